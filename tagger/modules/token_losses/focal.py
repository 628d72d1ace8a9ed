"""Focal loss."""

from typing import Any

import torch

from tagger.modules.focusing import check_gamma, focused
from tagger.modules.token_losses.functions import gold_log_probabilities
from tagger.modules.token_losses.token_loss import TokenLoss


@TokenLoss.register("focal")
class FocalLoss(TokenLoss):
    """`-c[y] (1 - p_y)^gamma log p_y`: tokens that are learnt already lose weight.

    After Lin et al. 2017, "Focal loss for dense object detection", equation 5, over a softmax instead
    of a sigmoid; their alpha is the class weight. At `gamma` 0 it is cross-entropy.

    Args:
        gamma: at least 0.
        **kwargs: those of `TagWeights`.

    Raises:
        ConfigurationError: also if `gamma` is negative or not finite.
    """

    def __init__(self, gamma: float = 2.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check_gamma(gamma)
        self.gamma = gamma

    def token_losses(self, scores: torch.Tensor, tags: torch.Tensor) -> torch.Tensor:
        return -focused(gold_log_probabilities(scores, tags), self.gamma)
