"""The negative-tolerant focal loss."""

from typing import Any

import torch

from tagger.modules.check_number import check_number
from tagger.modules.focal_factor import check_gamma
from tagger.modules.multi_label_losses.counted_multi_label_loss import CountedMultiLabelLoss
from tagger.modules.multi_label_losses.formulas import negative_tolerant_terms, prior_bias
from tagger.modules.multi_label_losses.multi_label_loss import MultiLabelLoss


@MultiLabelLoss.register("negative_tolerant")
class NegativeTolerantLoss(CountedMultiLabelLoss):
    """NTR-FL: the focal loss of scores minus `v = kappa log(N / n - 1)`, with scaled negatives.

    After Huang et al. 2021, who take the regularization from Wu et al. 2020. A negative's score is
    multiplied by `lambda` and its loss divided by it; see `negative_tolerant_terms`. Predictions use
    the plain scores, so thresholds other than .5 may be better: see the callback `tune_thresholds`.

    Args:
        gamma: The exponent of the focal factor.
        kappa: The size of the bias; 0 for none.
        negative_scale: `lambda`; 1 treats negatives as positives.
        **kwargs: The arguments of `CountedMultiLabelLoss`.

    Raises:
        ConfigurationError: If one of these numbers is out of range, or as `CountedMultiLabelLoss` does.
    """

    def __init__(
        self, gamma: float = 2.0, kappa: float = 0.05, negative_scale: float = 2.0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        check_gamma(gamma)
        check_number("kappa", kappa, kappa >= 0, "at least 0, 0 for no bias")
        is_valid = negative_scale > 0
        check_number("negative_scale", negative_scale, is_valid, "above 0, 1 to treat all alike")
        self.gamma = gamma
        self.kappa = kappa
        self.negative_scale = negative_scale

    def label_losses(self, scores: torch.Tensor, positives: torch.Tensor) -> torch.Tensor:
        bias = prior_bias(self.counts.label_counts, self.counts.num_items, self.kappa)
        return negative_tolerant_terms(scores, positives, bias, self.negative_scale, self.gamma)
