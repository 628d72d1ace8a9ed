"""Cross-entropy."""

from typing import Any

import torch

from tagger.modules.check_number import check_number
from tagger.modules.token_losses.functions import cross_entropy
from tagger.modules.token_losses.token_loss import TokenLoss


@TokenLoss.register("cross_entropy")
class CrossEntropyLoss(TokenLoss):
    """`-c[y] log p_y`, the negative log-likelihood of each gold tag.

    Args:
        label_smoothing: The share of the target that all possible tags get alike, from 0 to below 1.
            Unlike in PyTorch's loss, the weight of the gold tag multiplies this part too.
        **kwargs: The arguments of `ClassWeights`.

    Raises:
        ConfigurationError: If `label_smoothing` is out of range, or as `ClassWeights` does.
    """

    def __init__(self, label_smoothing: float = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        is_valid = 0 <= label_smoothing < 1
        check_number("label_smoothing", label_smoothing, is_valid, "at least 0 and below 1")
        self.label_smoothing = label_smoothing

    def token_losses(self, scores: torch.Tensor, gold_tags: torch.Tensor) -> torch.Tensor:
        return cross_entropy(scores, gold_tags, self.label_smoothing)
