"""Training against a cost for each kind of error."""

import math
from typing import Any, Dict, List, Optional, Union

import torch

from tagger.common.did_you_mean import did_you_mean
from tagger.common.from_allennlp import ConfigurationError, Vocabulary
from tagger.common.vocabulary import tags_in_order
from tagger.linear_chain import ChainScores, allowed_tags, log_likelihood
from tagger.linear_chain.declared import has_unknown_tags
from tagger.modules.tag_weighting.tag_weighting import TagWeighting
from tagger.spans import labels_of_tags

#: One cost for all labels, or costs by label; labels that are not named cost 0.
LabelCosts = Union[float, Dict[str, float]]


@TagWeighting.register("softmax_margin")
class SoftmaxMarginWeighting(TagWeighting):
    """Training adds a cost to the score of each wrong tag, which the gold tag must overcome.

    The objective is `score(x, y) - log sum_y' exp(score(x, y') + sum_t cost(y_t, y'_t))` (Gimpel &
    Smith 2010, "Softmax-margin CRFs"). A cost of log 2 doubles the odds of that error in training, and
    the scores must make up for it. The objective is never positive if no cost is negative. Without costs
    it is the log-likelihood.

    There are three kinds of errors. `missing` is the cost of giving no label to an entity's token; it
    raises recall. `inventing` is the cost of giving a label to a token that has none; it raises
    precision. `confusing` is the cost of giving a token another label than its own. Besides, a weight c
    of a gold tag adds log c to the cost of all errors at its tokens, so that their odds are c times as
    high in training. Above 1 it raises the tag's recall and lowers its precision.

    For partial labels, the tags of a token's set cost nothing, and another tag costs what it would
    against the cheapest tag of the set.

    Args:
        cost: (K, K), `cost[i][j]` of tag j where tag i is right, in nats, 0 for i = j.
        missing: By the label that is missed, or for all labels. This and the next two need `vocab`.
        inventing: By the label that is invented, or for all labels.
        confusing: By the label that is right, or for all labels.
        tag_weights: As in `ClassWeights`, and so is `vocab`. If there are costs, no source of weights is
            required.
        **kwargs: The other arguments of `ClassWeights`.

    Raises:
        ConfigurationError: If a cost is negative or not finite, a label is unknown, or `cost` is not
            square with zeros on its diagonal; or as `ClassWeights` does.
    """

    cost: torch.Tensor

    def __init__(
        self,
        cost: Optional[List[List[float]]] = None,
        missing: Optional[LabelCosts] = None,
        inventing: Optional[LabelCosts] = None,
        confusing: Optional[LabelCosts] = None,
        tag_weights: Optional[List[float]] = None,
        vocab: Optional[Vocabulary] = None,
        label_namespace: str = "labels",
        **kwargs: Any,
    ) -> None:
        by_error = {"missing": missing, "inventing": inventing, "confusing": confusing}
        has_costs_by_error = any(costs is not None for costs in by_error.values())
        if has_costs_by_error:
            if vocab is None:
                raise ConfigurationError(
                    "`missing`, `inventing` and `confusing` need a vocabulary to look labels up; pass "
                    "`vocab`, or give `cost`, a matrix of tags"
                )
            cost_by_error = costs_of_errors(tags_in_order(vocab, label_namespace), by_error)
        has_weights = any(
            kwargs.get(name) is not None for name in ("label_weights", "weight_rule", "tag_counts")
        )
        if tag_weights is None and not has_weights and (cost is not None or has_costs_by_error):
            tag_weights = [1.0] * len(cost if cost is not None else cost_by_error)
        super().__init__(
            tag_weights=tag_weights, vocab=vocab, label_namespace=label_namespace, **kwargs
        )
        num_tags = len(self.tag_weights)
        self.register_buffer("cost", torch.zeros(num_tags, num_tags))
        if cost is not None:
            self.cost += _checked_cost(cost, num_tags)
        if has_costs_by_error:
            self.cost += torch.tensor(cost_by_error)

    def objective(
        self, scores: ChainScores, gold_tags: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        # (K, K)
        margins = self.cost + self.tag_weights.log().unsqueeze(1)
        margins = margins.masked_fill(torch.eye(len(margins), device=margins.device).bool(), 0.0)
        if gold_tags.dim() == 2 and not has_unknown_tags(gold_tags, mask):
            # The padding may hold other numbers than tags.
            tags_or_zero = torch.where(mask, gold_tags, torch.zeros_like(gold_tags))
            # (B, T, K)
            margins = torch.nn.functional.embedding(tags_or_zero, margins)
        else:
            gold_tags = allowed_tags(gold_tags, len(margins))
            margins = _margins_of_sets(margins, gold_tags)
        augmented = scores._replace(emissions=scores.emissions + margins)
        return log_likelihood(augmented, gold_tags, mask)


def costs_of_errors(
    tags: List[str], by_error: Dict[str, Optional[LabelCosts]]
) -> List[List[float]]:
    """Spreads the costs of errors over pairs of tags.

    Args:
        tags: All K tags, in the order of their indices.
        by_error: The costs under `missing`, `inventing` and `confusing`; `None` for no cost.

    Returns:
        (K, K), `[i][j]` the cost of tag j where tag i is right.

    Raises:
        ConfigurationError: If a cost is negative or not finite, or no tag has one of the labels.

    Example:
        >>> costs_of_errors(["O", "U-PER", "U-LOC"], {"missing": 2.0, "confusing": {"LOC": 1.0}})
        [[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [2.0, 1.0, 0.0]]
    """
    labels = labels_of_tags(tags)
    known = list(dict.fromkeys(label for label in labels if label is not None))
    for error, costs in by_error.items():
        for label, value in (costs if isinstance(costs, dict) else {"all labels": costs}).items():
            if isinstance(costs, dict) and label not in known:
                raise ConfigurationError(
                    f"`{error}` names `{label}`, which is no label of this vocabulary "
                    f"({', '.join(known)})" + did_you_mean(label, known)
                )
            _check_cost(error, label, 0.0 if value is None else value)

    def cost(right: Optional[str], wrong: Optional[str]) -> float:
        if right == wrong:
            return 0.0
        error = "missing" if wrong is None else "inventing" if right is None else "confusing"
        costs = by_error.get(error) or 0.0
        label = wrong if right is None else right
        return float(costs.get(label or "", 0.0) if isinstance(costs, dict) else costs)

    return [[cost(right, wrong) for wrong in labels] for right in labels]


def _margins_of_sets(margins: torch.Tensor, allowed: torch.Tensor) -> torch.Tensor:
    """The margin of each tag against the cheapest allowed tag, (B, T, K); 0 for allowed tags."""
    cheapest = torch.full_like(allowed, math.inf, dtype=margins.dtype)
    for k, row in enumerate(margins):
        cheapest = torch.where(allowed[:, :, k : k + 1], torch.minimum(cheapest, row), cheapest)
    # In the padding no tag is allowed, so none is cheapest.
    return torch.where(allowed | cheapest.isinf(), torch.zeros_like(cheapest), cheapest)


def _checked_cost(cost: List[List[float]], num_tags: int) -> torch.Tensor:
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
    if not (isinstance(value, (int, float)) and 0 <= value < math.inf):
        raise ConfigurationError(
            f"`{argument}` gives {name} the cost {value!r}; a cost must be a finite number of at least 0"
        )
