"""Tunes a model's thresholds on the development data."""

from typing import Any, Dict, List, Union

from allennlp.common.checks import ConfigurationError
from allennlp.training import GradientDescentTrainer
from allennlp.training.callbacks import TrainerCallback

from tagger.modules.label_thresholds import LabelThresholds, thresholds_of
from tagger.training.thresholds import LEAST_POSITIVES, threshold_tuner


@TrainerCallback.register("tune_thresholds")
class TuneThresholdsCallback(TrainerCallback):
    """Tunes every `LabelThresholds` of a model at the end of each pass over the development data.

    The metrics of a pass are those of its tuned thresholds, and they decide which epoch is best. The
    thresholds of that epoch are saved with its weights. Tuning ends with training, so neither
    `allennlp evaluate` nor the evaluation of test data right after training changes a threshold. A model
    could not tell these data apart. `allennlp tune-decoding` does the same for a saved model.

    Args:
        serialization_dir: The folder of the run; supplied by the trainer.
        target: The goal: `"micro"` or `"macro"` F1, or `{"precision": 0.9}` or `{"recall": 0.9}` for
            each label; see `tagger.training.thresholds.tune_thresholds`.
        least_positives: How many items of the development data must have a label for its threshold to be
            tuned. A threshold that is best for one or two items may predict the label everywhere in
            other data.
        common: Whether all labels get one threshold, for `"micro"` or `"macro"` F1, whatever
            `least_positives`. It fits less to chance than a threshold by label, and it serves labels
            that the development data do not show.

    Raises:
        ConfigurationError: If the target is unknown, or none for a common threshold, or
            `least_positives` is below 1. When training starts: if the model has no thresholds.
    """

    def __init__(
        self,
        serialization_dir: str,
        target: Union[str, Dict[str, float]] = "micro",
        least_positives: int = LEAST_POSITIVES,
        common: bool = False,
    ) -> None:
        super().__init__(serialization_dir)
        self._tuner = threshold_tuner(target, least_positives, common)
        self._thresholds: List[LabelThresholds] = []

    def on_start(
        self, trainer: GradientDescentTrainer, is_primary: bool = True, **kwargs: Any
    ) -> None:
        super().on_start(trainer, is_primary, **kwargs)
        self._thresholds = list(thresholds_of(trainer.model).values())
        if not self._thresholds:
            raise ConfigurationError(
                "`tune_thresholds` needs a model with thresholds, such as a `sequence_tagger` whose "
                "head is `sigmoid`; leave the callback out"
            )
        for each in self._thresholds:
            each.start_tuning(self._tuner)

    def on_end(self, *args: Any, **kwargs: Any) -> None:
        for each in self._thresholds:
            each.stop_tuning()
