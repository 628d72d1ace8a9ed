"""The focal loss over several labels."""

from typing import Optional

import torch

from tagger.modules.check_number import check_number
from tagger.modules.focal_factor import check_gamma
from tagger.modules.multi_label_losses.formulas import focal_terms
from tagger.modules.multi_label_losses.multi_label_loss import MultiLabelLoss


@MultiLabelLoss.register("focal")
class MultiLabelFocalLoss(MultiLabelLoss):
    """`-a (1 - q)^gamma log q`, `q` the probability of what is right (Lin et al. 2017).

    `a` is `alpha` for positives and `1 - alpha` for negatives. Without `alpha` it is 1 for both, as in
    Huang et al. 2021.

    Args:
        gamma: How much labels that the model has learnt lose weight; 0 gives binary cross-entropy.
        alpha: The share of positives, between 0 and 1.

    Raises:
        ConfigurationError: If one is out of range.
    """

    def __init__(self, gamma: float = 2.0, alpha: Optional[float] = None) -> None:
        super().__init__()
        check_gamma(gamma)
        if alpha is not None:
            check_number("alpha", alpha, 0 < alpha < 1, "above 0 and below 1")
        self.gamma = gamma
        self.alpha = alpha

    def label_losses(self, scores: torch.Tensor, positives: torch.Tensor) -> torch.Tensor:
        terms = focal_terms(scores, positives, self.gamma)
        if self.alpha is None:
            return terms
        return torch.where(positives, self.alpha * terms, (1 - self.alpha) * terms)
