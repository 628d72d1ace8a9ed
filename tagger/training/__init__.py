"""The trainer, its callbacks, optimizers and moving average of weights."""

from typing import TYPE_CHECKING

import tagger.common.needs_allennlp  # noqa: F401
from tagger.common.lazy_names import lazy_names
from tagger.common.training_counts import supply_training_counts

if TYPE_CHECKING:
    from tagger.training.augmentation import AugmentationCallback
    from tagger.training.callbacks import LogClippingCallback, ShowMetricsCallback
    from tagger.training.frozen_features import FrozenFeaturesCallback
    from tagger.training.layerwise_adamw import LayerwiseAdamW
    from tagger.training.optimizers import FusedAdam, FusedAdamW, FusedExponentialMovingAverage
    from tagger.training.recoverable_trainer import RecoverableTrainer
    from tagger.training.recoverable_training import RecoverableTraining
    from tagger.training.whole_checkpointer import WholeCheckpointer

__all__ = [
    "AugmentationCallback",
    "FrozenFeaturesCallback",
    "FusedAdam",
    "FusedAdamW",
    "FusedExponentialMovingAverage",
    "LayerwiseAdamW",
    "LogClippingCallback",
    "RecoverableTrainer",
    "RecoverableTraining",
    "ShowMetricsCallback",
    "WholeCheckpointer",
    "supply_training_counts",
]

lazy_names(__name__)
