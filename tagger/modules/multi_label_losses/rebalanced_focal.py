"""The rebalanced focal loss."""

from typing import Any

import torch

from tagger.modules.focal_factor import check_gamma
from tagger.modules.multi_label_losses.counted_multi_label_loss import CountedMultiLabelLoss
from tagger.modules.multi_label_losses.formulas import (
    check_rebalancing,
    focal_terms,
    rebalancing_weights,
)
from tagger.modules.multi_label_losses.multi_label_loss import MultiLabelLoss


@MultiLabelLoss.register("rebalanced_focal")
class RebalancedFocalLoss(CountedMultiLabelLoss):
    """R-FL: `alpha + sigmoid(beta (r - mu))` times the focal loss of each label (Huang et al. 2021).

    `r` compares the rarity of a label with that of the item's positives; `rebalancing_weights` defines
    it, for items without a positive too. Labels that the item may have, but is not known to have, are
    not among these positives.

    Args:
        gamma: The exponent of the focal factor.
        alpha: The least weight.
        beta: How steeply weights rise with `r`.
        mu: The `r` in the middle of the rise.
        **kwargs: The arguments of `CountedMultiLabelLoss`.

    Raises:
        ConfigurationError: If one of these numbers is out of range, or as `CountedMultiLabelLoss` does.
    """

    def __init__(
        self,
        gamma: float = 2.0,
        alpha: float = 0.1,
        beta: float = 10.0,
        mu: float = 0.9,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_gamma(gamma)
        check_rebalancing(alpha, beta, mu)
        self.gamma = gamma
        self.alpha = alpha
        self.beta = beta
        self.mu = mu

    def label_losses(self, scores: torch.Tensor, positives: torch.Tensor) -> torch.Tensor:
        weights = rebalancing_weights(
            positives, self.counts.label_counts, self.alpha, self.beta, self.mu
        )
        return weights * focal_terms(scores, positives, self.gamma)
