"""The class-balanced focal loss."""

from typing import Any

import torch

from tagger.modules.focal_factor import check_gamma
from tagger.modules.multi_label_losses.counted_multi_label_loss import CountedMultiLabelLoss
from tagger.modules.multi_label_losses.formulas import check_class_balancing, focal_terms
from tagger.modules.multi_label_losses.multi_label_loss import MultiLabelLoss
from tagger.training_counts import inverse_effective_number


@MultiLabelLoss.register("class_balanced_focal")
class ClassBalancedFocalLoss(CountedMultiLabelLoss):
    """CB: `(1 - b) / (1 - b^n)` times the focal loss of each label (Cui et al. 2019; Huang et al. 2021).

    Args:
        gamma: The exponent of the focal factor.
        beta: `b`. With .9, the papers' value for texts, all labels seen more than about 40 times weigh
            the same. For tokens, of which there are many more, take .999 or above. The loss gets
            smaller with `1 - b`.
        **kwargs: The arguments of `CountedMultiLabelLoss`.

    Raises:
        ConfigurationError: If `gamma` or `beta` is out of range, or as `CountedMultiLabelLoss` does.
    """

    def __init__(self, gamma: float = 2.0, beta: float = 0.9, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check_gamma(gamma)
        check_class_balancing(beta)
        self.gamma = gamma
        self.beta = beta

    def label_losses(self, scores: torch.Tensor, positives: torch.Tensor) -> torch.Tensor:
        weights = inverse_effective_number(self.counts.label_counts, self.beta)
        return weights * focal_terms(scores, positives, self.gamma)
