"""The negative-tolerant focal loss."""

from typing import Any

import torch

from tagger.modules.focusing import check_gamma
from tagger.modules.multi_label_losses.formulas import negative_tolerant_terms, prior_bias
from tagger.modules.multi_label_losses.multi_label_loss import (
    CountedMultiLabelLoss,
    MultiLabelLoss,
)
from tagger.modules.multi_label_losses.settings import check_negative_tolerance


@MultiLabelLoss.register("negative_tolerant")
class NegativeTolerantLoss(CountedMultiLabelLoss):
    """NTR-FL: the focal loss of scores less `v = kappa log(N / n - 1)`, those of negatives scaled.

    After Huang et al. 2021, who take the regularization from Wu et al. 2020. A negative's score is
    multiplied by `lambda` and its loss divided by it; see `negative_tolerant_terms`. Predictions are
    made from the plain scores, so that thresholds other than .5 may be better: see the callback
    `tune_thresholds`.

    Args:
        gamma: the focusing.
        kappa: the size of the bias; at 0 there is none.
        negative_scale: `lambda`; at 1 negatives are treated as positives are.
        **kwargs: those of `CountedMultiLabelLoss`.

    Raises:
        ConfigurationError: also if one of these numbers is out of range.
    """

    def __init__(
        self, gamma: float = 2.0, kappa: float = 0.05, negative_scale: float = 2.0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        check_gamma(gamma)
        check_negative_tolerance(kappa, negative_scale)
        self.gamma = gamma
        self.kappa = kappa
        self.negative_scale = negative_scale

    def label_losses(self, scores: torch.Tensor, positives: torch.Tensor) -> torch.Tensor:
        bias = prior_bias(self.counts.label_counts, self.counts.num_items, self.kappa)
        return negative_tolerant_terms(scores, positives, bias, self.negative_scale, self.gamma)
