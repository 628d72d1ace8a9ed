"""Cross-entropy."""

from typing import Any

import torch
from allennlp.common.checks import ConfigurationError

from tagger.modules.token_losses.functions import cross_entropy
from tagger.modules.token_losses.token_loss import TokenLoss


@TokenLoss.register("cross_entropy")
class CrossEntropyLoss(TokenLoss):
    """`-c[y] log p_y`, the negative log-likelihood of each gold tag.

    Args:
        label_smoothing: the share of the target that all possible tags get alike, from 0 to below 1.
            Deviating from PyTorch's loss, that part weighs by the gold tag too.
        **kwargs: those of `TagWeights`.

    Raises:
        ConfigurationError: also if `label_smoothing` is out of range.
    """

    def __init__(self, label_smoothing: float = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not 0 <= label_smoothing < 1:
            raise ConfigurationError(
                f"`label_smoothing` must be at least 0 and below 1; got {label_smoothing!r}"
            )
        self.label_smoothing = label_smoothing

    def token_losses(self, scores: torch.Tensor, tags: torch.Tensor) -> torch.Tensor:
        return cross_entropy(scores, tags, self.label_smoothing)
