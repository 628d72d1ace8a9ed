"""The class-balanced focal loss."""

from typing import Any

import torch

from tagger.modules.focusing import check_gamma
from tagger.modules.multi_label_losses.formulas import class_balanced_weights, focal_terms
from tagger.modules.multi_label_losses.multi_label_loss import (
    CountedMultiLabelLoss,
    MultiLabelLoss,
)
from tagger.modules.multi_label_losses.settings import check_class_balancing


@MultiLabelLoss.register("class_balanced_focal")
class ClassBalancedFocalLoss(CountedMultiLabelLoss):
    """CB: `(1 - b) / (1 - b^n)` times the focal loss of each label (Cui et al. 2019; Huang et al. 2021).

    Args:
        gamma: the focusing.
        beta: `b`. At .9, the papers' value for texts, all labels seen more than some 40 times weigh the
            same; for tokens, of which there are many more, take .999 or above. The loss gets smaller
            with `1 - b`.
        **kwargs: those of `CountedMultiLabelLoss`.

    Raises:
        ConfigurationError: also if `gamma` or `beta` is out of range.
    """

    def __init__(self, gamma: float = 2.0, beta: float = 0.9, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check_gamma(gamma)
        check_class_balancing(beta)
        self.gamma = gamma
        self.beta = beta

    def label_losses(self, scores: torch.Tensor, positives: torch.Tensor) -> torch.Tensor:
        weights = class_balanced_weights(self.counts.label_counts, self.beta)
        return weights * focal_terms(scores, positives, self.gamma)
