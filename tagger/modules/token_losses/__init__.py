"""Losses of tokens that have one tag each."""

from tagger.modules.token_losses.class_balanced import ClassBalancedLoss
from tagger.modules.token_losses.cross_entropy import CrossEntropyLoss
from tagger.modules.token_losses.dice import DiceLoss
from tagger.modules.token_losses.focal import FocalLoss
from tagger.modules.token_losses.functions import mean_over_known
from tagger.modules.token_losses.logit_adjusted import LogitAdjustedLoss
from tagger.modules.token_losses.token_loss import TokenLoss

__all__ = [
    "ClassBalancedLoss",
    "CrossEntropyLoss",
    "DiceLoss",
    "FocalLoss",
    "LogitAdjustedLoss",
    "TokenLoss",
    "mean_over_known",
]
