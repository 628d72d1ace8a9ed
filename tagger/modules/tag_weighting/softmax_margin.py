"""Training against a cost for each kind of error."""

import math
from typing import Any, Dict, List, Optional, Union

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary

from tagger.did_you_mean import did_you_mean
from tagger.label_encoding import labels_of_tags
from tagger.linear_chain import ChainScores, allowed_tags, log_likelihood
from tagger.modules.tag_weighting.tag_weighting import TagWeighting
from tagger.vocabulary import tags_in_order

#: One cost for all labels, or some labels' own, the others' being 0.
LabelCosts = Union[float, Dict[str, float]]


@TagWeighting.register("softmax_margin")
class SoftmaxMarginWeighting(TagWeighting):
    """Wrong tags count as more probable than they are, by a cost of each error.

    The objective is `score(x, y) - log sum_y' exp(score(x, y') + sum_t cost(y_t, y'_t))` (Gimpel &
    Smith 2010, "Softmax-margin CRFs"). A cost of log 2 doubles, in training, the odds of that error,
    and the scores have to make up for it. It is never positive where no cost is negative, and without
    costs the log-likelihood.

    `missing` is the cost of giving an entity's token no label, and raises recall; `inventing` that of
    giving a label to a token that has none, and raises precision; `confusing` that of giving a token of
    one label another's. A weight c of a gold tag adds log c to the cost of all errors at its tokens,
    so that its odds against each of them are c times as hard to win: above 1 it raises the tag's
    recall and lowers its precision.

    A token whose label is a set costs nothing within the set, and outside what the cheapest of the set
    would cost.

    Args:
        cost: (K, K), `cost[i][j]` of tag j where tag i is right, in nats, 0 for i = j.
        missing: by the label that is missed, or for all labels. This and the next two need `vocab`.
        inventing: by the label that is invented, or for all.
        confusing: by the label that is right, or for all.
        tag_weights: as for all strategies, as is `vocab`. Neither it nor another source of weights has
            to be given besides costs.
        **kwargs: the others of `TagWeighting`.

    Raises:
        ConfigurationError: also if a cost is negative or not finite, a label is unknown, or `cost` is
            not square with zeros on its diagonal.
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
        has_errors = any(costs is not None for costs in by_error.values())
        if has_errors and vocab is None:
            raise ConfigurationError(
                "`missing`, `inventing` and `confusing` need a vocabulary to look labels up; pass "
                "`vocab`, or give `cost`, a matrix of tags"
            )
        tags = tags_in_order(vocab, label_namespace) if has_errors and vocab is not None else []
        has_weights = any(
            kwargs.get(name) is not None for name in ("label_weights", "weight_rule", "tag_counts")
        )
        if tag_weights is None and not has_weights and (cost is not None or has_errors):
            tag_weights = [1.0] * (len(tags) if cost is None else len(cost))
        super().__init__(
            tag_weights=tag_weights, vocab=vocab, label_namespace=label_namespace, **kwargs
        )
        num_tags = len(self.tag_weights)
        self.register_buffer("cost", torch.zeros(num_tags, num_tags))
        if cost is not None:
            self.cost += _checked_cost(cost, num_tags)
        if has_errors:
            self.cost += torch.tensor(costs_of_errors(tags, by_error))

    def _weighted_log_likelihood(
        self, scores: ChainScores, tags: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        # (K, K)
        margins = self.cost + self.tag_weights.log().unsqueeze(1)
        margins = margins.masked_fill(torch.eye(len(margins), device=margins.device).bool(), 0.0)
        if tags.dim() == 2 and not bool(((tags == -1) & mask).any()):
            # What lies in the padding may be no tag.
            tags_or_zero = torch.where(mask, tags, torch.zeros_like(tags))
            margins = torch.nn.functional.embedding(tags_or_zero, margins)
        else:
            tags = allowed_tags(tags, len(margins))
            margins = _margins_of_sets(margins, tags)
        return log_likelihood(scores._replace(emissions=scores.emissions + margins), tags, mask)


def costs_of_errors(
    tags: List[str], by_error: Dict[str, Optional[LabelCosts]]
) -> List[List[float]]:
    """Spreads the costs of errors over pairs of tags.

    Args:
        tags: all K tags, in the order of their indices.
        by_error: the costs under `missing`, `inventing` and `confusing`; `None` for no cost.

    Returns:
        (K, K), the cost of each tag, second, where another is right, first.

    Raises:
        ConfigurationError: if a cost is negative or not finite, or a label is not that of any tag.

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
    """The margin of each tag against the cheapest of the allowed ones, (B, T, K), 0 for these."""
    cheapest = torch.full_like(allowed, math.inf, dtype=margins.dtype)
    for k, row in enumerate(margins):
        cheapest = torch.where(allowed[:, :, k : k + 1], torch.minimum(cheapest, row), cheapest)
    # Where nothing is allowed, in the padding, nothing is cheapest.
    return torch.where(allowed | cheapest.isinf(), torch.zeros_like(cheapest), cheapest)


def _checked_cost(cost: List[List[float]], num_tags: int) -> torch.Tensor:
    if len(cost) != num_tags or any(len(row) != num_tags for row in cost):
        raise ConfigurationError(
            f"`cost` must have {num_tags} rows of {num_tags} numbers, a row for each tag that is right, "
            f"a number for each that is given; got rows of {[len(row) for row in cost]}"
        )
    for i, row in enumerate(cost):
        for j, value in enumerate(row):
            _check_cost("cost", f"tag {j} where {i} is right", value)
        if row[i] != 0:
            raise ConfigurationError(
                f"`cost` gives the right tag {i} the cost {row[i]!r}; what is right must cost 0"
            )
    return torch.tensor(cost)


def _check_cost(argument: str, name: str, value: float) -> None:
    if not (isinstance(value, (int, float)) and 0 <= value < math.inf):
        raise ConfigurationError(
            f"`{argument}` gives {name} the cost {value!r}; a cost must be a finite number of at least 0"
        )
