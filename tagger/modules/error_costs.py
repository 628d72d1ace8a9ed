"""The costs of errors that `softmax_margin` trains against."""

from typing import Dict, List, Optional, Union

import torch

from tagger.common.from_allennlp import ConfigurationError
from tagger.common.ranges import is_number
from tagger.common.vocabulary import check_is_label
from tagger.spans import labels_of_tags

#: One cost for all labels, or costs by label; labels that are not named cost 0.
LabelCosts = Union[float, Dict[str, float]]


def costs_of_errors(tags: List[str], by_error: Dict[str, Optional[LabelCosts]]) -> torch.Tensor:
    """Turns the costs `missing`, `inventing` and `confusing` into costs for pairs of the K tags.

    The result is (K, K): `[i, j]` is the cost of tag j where tag i is right.

    Example:
        >>> costs_of_errors(["O", "U-PER", "U-LOC"], {"missing": 2.0, "confusing": {"LOC": 1.0}})
        tensor([[0., 0., 0.],
                [2., 0., 0.],
                [2., 1., 0.]])
    """
    labels = labels_of_tags(tags)
    known = dict.fromkeys(label for label in labels if label is not None)
    for error, costs in by_error.items():
        for label, value in (costs if isinstance(costs, dict) else {"all labels": costs}).items():
            if isinstance(costs, dict):
                check_is_label(error, label, known)
            _check_cost(error, label, 0.0 if value is None else value)

    def costs_by_tag(error: str) -> torch.Tensor:
        costs = by_error.get(error) or 0.0
        return torch.tensor(
            [
                float(costs.get(each or "", 0.0) if isinstance(costs, dict) else costs)
                for each in labels
            ]
        )

    number_of = {each: number for number, each in enumerate([None, *known])}
    # (K,), 0 for `O`
    numbers = torch.tensor([number_of[each] for each in labels])
    is_outside: torch.Tensor = numbers.eq(0)
    # (K, K)
    table = costs_by_tag("confusing").unsqueeze(1).repeat(1, len(numbers))
    table = torch.where(is_outside, costs_by_tag("missing").unsqueeze(1), table)
    table = torch.where(is_outside.unsqueeze(1), costs_by_tag("inventing"), table)
    return table.masked_fill_(numbers.unsqueeze(1).eq(numbers), 0.0)


def checked_cost(cost: List[List[float]], num_tags: int) -> torch.Tensor:
    """Returns costs for pairs of tags, (K, K), if they are what `SoftmaxMarginWeighting` allows."""
    if len(cost) != num_tags or any(len(row) != num_tags for row in cost):
        raise ConfigurationError(
            f"`cost` must have {num_tags} rows of {num_tags} numbers, a row for each right tag, a "
            f"number for each given tag; got rows of {[len(row) for row in cost]}"
        )
    for i, row in enumerate(cost):
        for j, value in enumerate(row):
            _check_cost("cost", f"tag {j} where {i} is right", value)
        if row[i] != 0:
            raise ConfigurationError(
                f"`cost` gives the right tag {i} the cost {row[i]!r}; a right tag must cost 0"
            )
    return torch.tensor(cost)


def _check_cost(argument: str, name: str, value: float) -> None:
    if not is_number(value, least=0):
        raise ConfigurationError(
            f"`{argument}` gives {name} the cost {value!r}; a cost must be a finite number of at least 0"
        )
