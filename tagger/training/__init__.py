"""What goes with the trainer."""

from tagger.training.training_counts import TrainingCountsCallback as TrainingCountsCallback
from tagger.training.tune_thresholds import TuneThresholdsCallback as TuneThresholdsCallback
