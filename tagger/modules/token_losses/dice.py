"""Dice loss."""

from typing import Any

import torch
from allennlp.common.checks import ConfigurationError

from tagger.modules.token_losses.functions import dice_loss
from tagger.modules.token_losses.token_loss import TokenLoss


@TokenLoss.register("dice")
class DiceLoss(TokenLoss):
    """One minus the self-adjusting Dice coefficient of each tag, summed over tags.

    With `q_k = (1 - p_k)^alpha p_k` the coefficient is `(2 q_k + s) / (q_k + 1 + s)` of the gold tag and
    `s / (q_k + s)` of every other, `s` being the smoothing (Li et al. 2020, "Dice loss for
    data-imbalanced NLP tasks", section 3.4, the equation of the self-adjusting DSC). Theirs is of one
    class against the rest; here are all classes, per token, and the weight of the gold tag goes with
    the whole sum, false positives of other tags included.

    Keep `alpha` small. Beyond `p = 1 / (1 + alpha)` the coefficient of a gold tag falls again, and in
    the limit of certainty right and wrong tags cost the same: the larger `alpha`, the more of the
    mistakes that a model is sure of remain.

    Args:
        alpha: at least 0; 0 leaves the self-adjusting out. The default is what the authors' code sets
            for CoNLL-2003.
        smoothing: above 0.
        **kwargs: those of `TagWeights`.

    Raises:
        ConfigurationError: also if a number is out of range.
    """

    def __init__(self, alpha: float = 0.01, smoothing: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not (0 <= alpha < float("inf") and 0 < smoothing < float("inf")):
            raise ConfigurationError(
                f"`alpha` must be at least 0, `smoothing` above 0, and both finite; got {alpha!r} and "
                f"{smoothing!r}"
            )
        self.alpha = alpha
        self.smoothing = smoothing

    def token_losses(self, scores: torch.Tensor, tags: torch.Tensor) -> torch.Tensor:
        return dice_loss(scores, tags, self.alpha, self.smoothing)
