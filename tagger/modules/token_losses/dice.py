"""Dice loss."""

from typing import Any

import torch

from tagger.modules.check_number import check_number
from tagger.modules.token_losses.functions import dice_loss
from tagger.modules.token_losses.token_loss import TokenLoss


@TokenLoss.register("dice")
class DiceLoss(TokenLoss):
    """One minus the Dice coefficient of each tag, a soft F1 over the batch, summed over tags.

    The coefficient of tag k is `(2 sum q_k [k = y] + s) / (sum q_k^2 + sum [k = y] + s)`. The sums run
    over all tokens of the batch, each tag against the rest, and `s` is the smoothing (Milletari et al.
    2016, "V-Net", section 3; Li et al. 2020, "Dice loss for data-imbalanced NLP tasks", section 3.3).
    `q_k = (1 - p_k)^alpha p_k` has the self-adjusting factor of Li et al., section 3.4. Every tag counts
    the same, however rare it is.

    Deviation: Li et al. sum the self-adjusting coefficients of single tokens. There every token counts
    the same, so on data that are mostly `O` a softmax learns to prefer `O` first. The slope of an
    entity's coefficient is proportional to the probability of its tag; once that is near 0, the model
    predicts `O` alone and stays there.

    A token's loss is its share of the sum, times the number of tokens, so that the mean over tokens is
    the sum. It depends on the batch: take batches that show most tags. The weight of the gold tag
    multiplies the whole share, false positives of other tags included.

    Args:
        alpha: At least 0; 0 leaves the self-adjusting factor out. Keep it small: beyond
            `p = 1 / (1 + alpha)`, `q` falls again, so that the loss punishes certainty.
        smoothing: Above 0. The larger it is, the less rare tags count, down to the squared error of each
            token by itself. The smaller it is, the more a false positive of a tag costs that the batch
            lacks. With many tags or small batches, take about 10.
        **kwargs: The arguments of `ClassWeights`.

    Raises:
        ConfigurationError: If a number is out of range, or as `ClassWeights` does.
    """

    def __init__(self, alpha: float = 0.0, smoothing: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check_number("alpha", alpha, alpha >= 0, "a finite number of at least 0")
        check_number("smoothing", smoothing, smoothing > 0, "a finite number above 0")
        self.alpha = alpha
        self.smoothing = smoothing

    def token_losses(self, scores: torch.Tensor, gold_tags: torch.Tensor) -> torch.Tensor:
        return dice_loss(scores, gold_tags, self.alpha, self.smoothing)
