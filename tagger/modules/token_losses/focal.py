"""Focal loss."""

from typing import Any

import torch

from tagger.modules.focal_factor import check_gamma, focal_log_probabilities
from tagger.modules.token_losses.functions import gold_log_probabilities
from tagger.modules.token_losses.token_loss import TokenLoss


@TokenLoss.register("focal")
class FocalLoss(TokenLoss):
    """`-c[y] (1 - p_y)^gamma log p_y`: tokens that the model has learnt lose weight.

    After Lin et al. 2017, "Focal loss for dense object detection", equation 5, with a softmax instead
    of a sigmoid; their alpha is the class weight. With `gamma` 0 it is cross-entropy.

    Args:
        gamma: At least 0.
        **kwargs: The arguments of `ClassWeights`.

    Raises:
        ConfigurationError: If `gamma` is negative or not finite, or as `ClassWeights` does.
    """

    def __init__(self, gamma: float = 2.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check_gamma(gamma)
        self.gamma = gamma

    def token_losses(self, scores: torch.Tensor, gold_tags: torch.Tensor) -> torch.Tensor:
        return -focal_log_probabilities(gold_log_probabilities(scores, gold_tags), self.gamma)
