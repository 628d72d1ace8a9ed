"""Callbacks of the trainer, and an optimizer."""

from tagger.training.optimizers import FusedAdam as FusedAdam
from tagger.training.show_metrics import ShowMetricsCallback as ShowMetricsCallback
from tagger.training.training_counts import TrainingCountsCallback as TrainingCountsCallback
from tagger.training.tune_thresholds import TuneThresholdsCallback as TuneThresholdsCallback
