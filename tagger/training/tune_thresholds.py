"""Tunes a model's thresholds on the development data."""

from typing import Any, Dict, List, Optional, Union

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.training import GradientDescentTrainer
from allennlp.training.callbacks import TrainerCallback

from tagger.threshold_tuning import check_tuning_target


@TrainerCallback.register("tune_thresholds")
class TuneThresholdsCallback(TrainerCallback):
    """Has thresholds tuned at the end of each pass over the development data.

    The scores of a pass are those of its tuned thresholds, and choose the best epoch; the thresholds of
    that epoch are saved with its weights. Training's end ends the tuning: `allennlp evaluate`, and test
    data that are evaluated right after training, change no threshold. Only a callback can tell the two
    apart, a model cannot.

    Every module of the model that has methods `start_tuning(target, least_positives)` and
    `stop_tuning()` is told.

    Args:
        serialization_dir: supplied by the trainer.
        target: what to tune for: `"micro"` or `"macro"` F1, or `{"precision": 0.9}` or
            `{"recall": 0.9}` for each label; see `tagger.threshold_tuning.tune_thresholds`.
        least_positives: how many items of the development data must have a label for its threshold to be
            tuned: what is best for one or two may predict the label everywhere in other data.

    Raises:
        ConfigurationError: if the target is unknown or `least_positives` is below 1; when training
            starts, if nothing has thresholds.
    """

    def __init__(
        self,
        serialization_dir: str,
        target: Union[str, Dict[str, float]] = "micro",
        least_positives: int = 5,
    ) -> None:
        super().__init__(serialization_dir)
        check_tuning_target(target)
        if least_positives < 1:
            raise ConfigurationError(f"`least_positives` must be at least 1; got {least_positives}")
        self._target = target
        self._least_positives = least_positives
        self._modules: List[torch.nn.Module] = []

    def on_start(
        self, trainer: GradientDescentTrainer, is_primary: bool = True, **kwargs: Any
    ) -> None:
        super().on_start(trainer, is_primary, **kwargs)
        self._modules = [m for m in trainer.model.modules() if hasattr(m, "start_tuning")]
        if not self._modules:
            raise ConfigurationError(
                "`tune_thresholds` needs a model with thresholds, such as a `sequence_tagger` whose "
                "head is `sigmoid`; leave the callback out"
            )
        for module in self._modules:
            module.start_tuning(self._target, self._least_positives)  # type: ignore[operator]

    def on_end(
        self,
        trainer: GradientDescentTrainer,
        metrics: Optional[Dict[str, Any]] = None,
        epoch: Optional[int] = None,
        is_primary: bool = True,
        **kwargs: Any,
    ) -> None:
        for module in self._modules:
            module.stop_tuning()  # type: ignore[operator]
