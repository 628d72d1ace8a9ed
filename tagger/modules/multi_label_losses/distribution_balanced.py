"""The distribution-balanced loss."""

from typing import Any

import torch

from tagger.modules.multi_label_losses.formulas import check_rebalancing, rebalancing_weights
from tagger.modules.multi_label_losses.multi_label_loss import MultiLabelLoss
from tagger.modules.multi_label_losses.negative_tolerant import NegativeTolerantLoss


@MultiLabelLoss.register("distribution_balanced")
class DistributionBalancedLoss(NegativeTolerantLoss):
    """DB: `alpha + sigmoid(beta (r - mu))` times the negative-tolerant loss of each label.

    After Wu et al. 2020 and, with the focal factor, Huang et al. 2021. `r` is as in
    `RebalancedFocalLoss`: it tells labels apart by the other labels of an item. If items have one label
    each, every positive has `r = 1` and the same weight, however rare it is, and so has every label of
    an item without labels. DB then degenerates; `class_balanced_negative_tolerant` serves rare labels
    better.

    Args:
        alpha: The least weight.
        beta: How steeply weights rise with `r`.
        mu: The `r` in the middle of the rise.
        **kwargs: The arguments of `NegativeTolerantLoss`.

    Raises:
        ConfigurationError: If one of these numbers is out of range, or as `NegativeTolerantLoss` does.
    """

    def __init__(
        self, alpha: float = 0.1, beta: float = 10.0, mu: float = 0.9, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        check_rebalancing(alpha, beta, mu)
        self.alpha = alpha
        self.beta = beta
        self.mu = mu

    def label_losses(self, scores: torch.Tensor, positives: torch.Tensor) -> torch.Tensor:
        weights = rebalancing_weights(
            positives, self.counts.label_counts, self.alpha, self.beta, self.mu
        )
        return weights * super().label_losses(scores, positives)
