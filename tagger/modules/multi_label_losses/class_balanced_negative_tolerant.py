"""The class-balanced negative-tolerant loss."""

from typing import Any

import torch

from tagger.modules.multi_label_losses.formulas import check_class_balancing
from tagger.modules.multi_label_losses.multi_label_loss import MultiLabelLoss
from tagger.modules.multi_label_losses.negative_tolerant import NegativeTolerantLoss
from tagger.training_counts import inverse_effective_number


@MultiLabelLoss.register("class_balanced_negative_tolerant")
class ClassBalancedNegativeTolerantLoss(NegativeTolerantLoss):
    """CB-NTR: `(1 - b) / (1 - b^n)` times the negative-tolerant loss of each label (Huang et al. 2021).

    Args:
        beta: `b`, as in `ClassBalancedFocalLoss`; for tokens take .999 or above.
        **kwargs: The arguments of `NegativeTolerantLoss`.

    Raises:
        ConfigurationError: If `beta` is out of range, or as `NegativeTolerantLoss` does.
    """

    def __init__(self, beta: float = 0.9, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check_class_balancing(beta)
        self.beta = beta

    def label_losses(self, scores: torch.Tensor, positives: torch.Tensor) -> torch.Tensor:
        weights = inverse_effective_number(self.counts.label_counts, self.beta)
        return weights * super().label_losses(scores, positives)
