"""Rules that derive class weights from how often each class occurs in training.

Letters: `K` classes, `n_k` the count of class k, `N` the sum of all counts.
"""

from typing import List, Sequence

import torch

from tagger.common.from_allennlp import Registrable
from tagger.common.ranges import check_number
from tagger.common.training_counts import inverse_effective_number
from tagger_texts.display import num_columns, padded


class WeightRule(Registrable):
    """Weights classes by their counts: the rarer a class, the larger its weight.

    Subclasses implement `relative_weight`. The weights are then scaled so that an average training item
    weighs 1, `sum_k n_k w_k = N`, and the loss keeps its size. A class that does not occur weighs 1.
    """

    def __call__(self, counts: Sequence[int]) -> List[float]:
        """Returns the weight of each class; a `ValueError` if counts are negative, or all 0."""
        if min(counts, default=0) < 0 or not any(counts):
            raise ValueError(
                f"`counts` must say how often each class occurs in training, at least one of them more "
                f"than 0 times; got {list(counts)}; check that the training data are labelled"
            )
        relative = [self.relative_weight(count) if count else 0.0 for count in counts]
        scale = sum(counts) / sum(count * weight for count, weight in zip(counts, relative))
        return [scale * weight or 1.0 for weight in relative]

    def relative_weight(self, count: int) -> float:
        """Returns the weight of a class that occurs `count` times, at least once, before scaling."""
        raise NotImplementedError


@WeightRule.register("balanced")
class BalancedWeightRule(WeightRule):
    """All `K` classes that occur have the same total weight: `w_k = N / (K n_k)`.

    Example:
        >>> BalancedWeightRule()([6, 3, 0])
        [0.75, 1.5, 1.0]
    """

    def relative_weight(self, count: int) -> float:
        return 1 / count


@WeightRule.register("inverse_sqrt")
class InverseSqrtWeightRule(WeightRule):
    """`w_k` proportional to `1 / sqrt(n_k)`, halfway from equal weights to `balanced`."""

    def relative_weight(self, count: int) -> float:
        return count**-0.5


@WeightRule.register("effective_number")
class EffectiveNumberWeightRule(WeightRule):
    """`w_k` proportional to `(1 - beta) / (1 - beta**n_k)`, one over the effective number of items.

    After Cui et al. 2019, "Class-balanced loss based on effective number of samples", equation 2.
    Deviation: they scale the weights to a sum of K. With `beta` near 0 the weights are equal, and with
    `beta` near 1 they are those of `balanced`. Counts far above `1 / (1 - beta)` weigh the same.

    Args:
        beta: Above 0 and below 1. With 0.999 all counts of several thousand and more weigh alike.
    """

    def __init__(self, beta: float = 0.999) -> None:
        check_number("beta", beta, 0 < beta < 1, "above 0 and below 1")
        self.beta = beta

    def relative_weight(self, count: int) -> float:
        return inverse_effective_number(torch.tensor(count).double(), self.beta).item()


def format_weights(names: Sequence[str], counts: Sequence[int], weights: Sequence[float]) -> str:
    """Returns a readable table of the name, count and weight of each class."""
    width = max(map(num_columns, names), default=0)
    rows = zip(names, counts, weights)
    lines = [f"{padded(name, width)}  {count:8}  {weight:7.4f}" for name, count, weight in rows]
    return "\n".join([f"{'':{width}}  {'count':>8}   weight", *lines])
