"""Weights of an item's labels by how often training shows each label.

Letters: `C` labels, `n` how many training items have a label. Weights have no gradient.
"""

import logging
from typing import Counter, FrozenSet, Optional, Union

import numpy as np
import torch

from tagger.common.from_allennlp import ConfigurationError
from tagger.common.ranges import check_is_one_of, check_number
from tagger.common.training_counts import LabelCounts, inverse_effective_number

logger = logging.getLogger(__name__)

#: What the effective number of an item's labels is taken from, see `ClassBalancing`.
MODES = ("by_class", "average_n", "average_w", "min_n")
#: Over which labels the largest weight becomes 1, see `normalise_weights`.
NORMS = ("by_instance", "by_batch")


class ClassBalancing(torch.nn.Module):
    """Weighs labels by `w(n) = (1 - beta) / (1 - beta^n)` (Cui et al. 2019).

    With the mode `by_class`, each label has the weight of its `n`. The other modes give all labels of
    an item one weight, from the labels that it has: `w` of their mean `n` (`average_n`), the mean of
    their `w` (`average_w`), or `w` of their smallest `n` (`min_n`). An item without a label has the
    weights of `by_class`.

    Raises:
        ConfigurationError: If `beta` is out of range or the mode is unknown.
    """

    def __init__(self, beta: float, mode: str = "by_class") -> None:
        super().__init__()
        check_number("beta", beta, 0 <= beta < 1, "at least 0, for equal weights, and below 1")
        check_is_one_of("mode", mode, MODES)
        self.beta, self.mode = beta, mode

    def forward(self, positives: torch.Tensor, label_counts: torch.Tensor) -> torch.Tensor:
        """Returns weights, (..., C) or (C,), for `positives`, (..., C) bool, and counts (C,)."""
        of_label = inverse_effective_number(label_counts, self.beta)
        if self.mode == "by_class":
            return of_label
        # (..., 1)
        num_positives = positives.sum(-1, keepdim=True)
        if self.mode == "min_n":
            # The fewer items, the larger the weight.
            of_item = of_label.masked_fill(~positives, 0).amax(-1, keepdim=True)
        elif self.mode == "average_w":
            of_item = (positives * of_label).sum(-1, keepdim=True) / num_positives.clamp(min=1)
        else:
            # In double precision, because counts may be large.
            total = (positives * label_counts.clamp(min=1).double()).sum(-1, keepdim=True)
            mean = total / num_positives.clamp(min=1)
            of_item = inverse_effective_number(mean, self.beta).to(of_label.dtype)
        return torch.where(num_positives > 0, of_item, of_label)


class Rebalancing(torch.nn.Module):
    """Weighs label i of an item by `alpha + sigmoid(beta (r_i - mu))`, (..., C).

    `r_i = (1 / n_i) / sum_{j positive} (1 / n_j)` is the share of the item's draws that are due to
    label i if all labels draw their items equally often (Wu et al. 2020, "Distribution-balanced loss
    for multi-label classification in long-tailed datasets", section 3). So rare labels weigh more, and
    frequent labels that an item lacks weigh less if it has a rare one.

    If an item has a single positive, that label has `r = 1`. The papers do not cover items without a
    positive, which no label draws; we set `r = 1` for all labels of these. A label that no item has
    counts as if one item had it.

    With `mu: 'auto'`, the trainer computes `mu` when it counts the training labels: the mean of the mean
    and the median of `r` over all labels that the training items have. It is logged, and saved with the
    model.

    Raises:
        ConfigurationError: If a number is out of range, or `mu` is another string than `'auto'`.
    """

    mu: Union[float, torch.Tensor]

    def __init__(
        self,
        alpha: float,
        beta: float,
        mu: Union[float, str],
        label_namespace: Optional[str] = None,
    ) -> None:
        super().__init__()
        check_number("alpha", alpha, alpha >= 0, "at least 0")
        check_number("beta", beta, beta >= 0, "at least 0, for equal weights")
        self.alpha, self.beta = alpha, beta
        self._namespace = label_namespace
        if mu == "auto":
            if label_namespace is None:
                raise ConfigurationError(
                    "`mu: 'auto'` is computed from the training data, but `label_counts` are given "
                    "without them; give a number, such as 0.9"
                )
            self.register_buffer("mu", torch.tensor(torch.nan))
        else:
            check_number("mu", mu, True, "a finite number, or 'auto'")  # type: ignore[arg-type]
            # No buffer, because a model in half precision would round it.
            self.mu = float(mu)

    def use_training_counts(self, counts: LabelCounts) -> None:
        """Computes `mu`, if it is `'auto'`."""
        if not isinstance(self.mu, torch.Tensor):
            return
        assert self._namespace is not None
        sets: Counter[FrozenSet[str]] = counts.label_sets.get(self._namespace, Counter())
        shares, numbers = [], []
        for labels, number in sets.items():
            rarity = np.array([1 / counts[self._namespace][label] for label in labels])
            shares += (rarity / rarity.sum()).tolist()
            numbers += [number] * len(labels)
        if not shares:
            # `CountedLabels` refuses such data with a remedy.
            return
        mean = np.average(shares, weights=numbers)
        median = np.median(np.repeat(shares, numbers))
        self.mu.fill_((mean + median) / 2)
        logger.info(
            "`mu` is %.4f: the mean of the mean, %.4f, and the median, %.4f, of the `r` of the training "
            "labels",
            (mean + median) / 2,
            mean,
            median,
        )

    def forward(self, positives: torch.Tensor, label_counts: torch.Tensor) -> torch.Tensor:
        """Returns weights, (..., C), for `positives`, (..., C) bool, and counts (C,)."""
        # (C,)
        rarity = 1 / label_counts.clamp(min=1)
        # (..., 1)
        drawn = (positives * rarity).sum(-1, keepdim=True)
        relative = torch.where(drawn > 0, rarity / drawn, torch.ones_like(rarity))
        return self.alpha + torch.sigmoid(self.beta * (relative - self.mu))


def normalise_weights(
    weights: torch.Tensor, known: torch.Tensor, norm: Optional[str]
) -> torch.Tensor:
    """Divides weights, (..., C), by the largest of an item (`by_instance`) or of all (`by_batch`).

    Only known labels, (..., C) bool, count.
    """
    if norm is None:
        return weights
    of_known = weights.expand(known.shape).masked_fill(~known, 0)
    largest = of_known.amax(-1, keepdim=True) if norm == "by_instance" else of_known.amax()
    # Without a known label there is nothing to weigh.
    return weights / torch.where(largest > 0, largest, torch.ones_like(largest))
