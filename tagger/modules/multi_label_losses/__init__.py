"""Losses of items, tokens or whole texts, that may have several labels."""

from tagger.modules.multi_label_losses.binary_cross_entropy import BinaryCrossEntropyLoss
from tagger.modules.multi_label_losses.class_balanced_focal import ClassBalancedFocalLoss
from tagger.modules.multi_label_losses.class_balanced_negative_tolerant import (
    ClassBalancedNegativeTolerantLoss,
)
from tagger.modules.multi_label_losses.counted_multi_label_loss import CountedMultiLabelLoss
from tagger.modules.multi_label_losses.distribution_balanced import DistributionBalancedLoss
from tagger.modules.multi_label_losses.multi_label_focal import MultiLabelFocalLoss
from tagger.modules.multi_label_losses.multi_label_loss import MultiLabelLoss
from tagger.modules.multi_label_losses.negative_tolerant import NegativeTolerantLoss
from tagger.modules.multi_label_losses.rebalanced_focal import RebalancedFocalLoss

__all__ = [
    "BinaryCrossEntropyLoss",
    "ClassBalancedFocalLoss",
    "ClassBalancedNegativeTolerantLoss",
    "CountedMultiLabelLoss",
    "DistributionBalancedLoss",
    "MultiLabelFocalLoss",
    "MultiLabelLoss",
    "NegativeTolerantLoss",
    "RebalancedFocalLoss",
]
