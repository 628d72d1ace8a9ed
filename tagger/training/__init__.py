"""The trainer, its callbacks, optimizers and moving average of weights."""

from typing import TYPE_CHECKING

import tagger.common.needs_allennlp  # noqa: F401
from tagger.common.lazy_names import lazy_names
from tagger.common.training_counts import supply_training_counts as supply_training_counts

if TYPE_CHECKING:
    from tagger.training.augmentation import AugmentationCallback as AugmentationCallback
    from tagger.training.callbacks import (
        LogClippingCallback as LogClippingCallback,
        ShowMetricsCallback as ShowMetricsCallback,
    )
    from tagger.training.frozen_features import FrozenFeaturesCallback as FrozenFeaturesCallback
    from tagger.training.optimizers import (
        FusedAdam as FusedAdam,
        FusedAdamW as FusedAdamW,
        FusedExponentialMovingAverage as FusedExponentialMovingAverage,
        LayerwiseAdamW as LayerwiseAdamW,
    )
    from tagger.training.recoverable_trainer import RecoverableTrainer as RecoverableTrainer
    from tagger.training.recoverable_training import RecoverableTraining as RecoverableTraining
    from tagger.training.whole_checkpointer import WholeCheckpointer as WholeCheckpointer

lazy_names(__name__)
