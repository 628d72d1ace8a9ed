"""What goes with the trainer."""

from tagger.training.optimizers import FusedAdam as FusedAdam
from tagger.training.show_scores import ShowScoresCallback as ShowScoresCallback
from tagger.training.training_counts import TrainingCountsCallback as TrainingCountsCallback
from tagger.training.tune_thresholds import TuneThresholdsCallback as TuneThresholdsCallback
