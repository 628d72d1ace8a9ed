"""Callbacks of the trainer, and an optimizer."""

import tagger.needs_allennlp  # noqa: F401
from tagger.training.optimizers import FusedAdam
from tagger.training.show_metrics import ShowMetricsCallback
from tagger.training.training_counts import TrainingCountsCallback
from tagger.training.tune_thresholds import TuneThresholdsCallback

__all__ = [
    "FusedAdam",
    "ShowMetricsCallback",
    "TrainingCountsCallback",
    "TuneThresholdsCallback",
]
