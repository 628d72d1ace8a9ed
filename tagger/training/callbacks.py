"""Trainer callbacks that report the progress of training and tune thresholds."""

import logging
from pathlib import Path
from typing import Any, Dict, List, Optional, Union

from allennlp.common.checks import ConfigurationError
from allennlp.common.util import dump_metrics
from allennlp.training import GradientDescentTrainer as Trainer
from allennlp.training.callbacks import TrainerCallback

from tagger.common.console import show_last
from tagger.common.files import write_atomically
from tagger.metrics import best_metrics, format_metrics, progress_metrics
from tagger.metrics.metrics_table import BEST_PREFIX
from tagger.modules.label_thresholds import LabelThresholds, thresholds_of
from tagger.training.thresholds import LEAST_POSITIVES, threshold_tuner

logger = logging.getLogger(__name__)

#: Metrics by name, as the trainer passes them to callbacks.
Metrics = Dict[str, Any]


class EpochLineCallback(TrainerCallback):
    """Logs one line per epoch."""

    def on_epoch(
        self, trainer: Trainer, metrics: Metrics, epoch: int, is_primary: bool = True, **kwargs: Any
    ) -> None:
        if is_primary:
            logger.info(epoch_line(metrics, epoch, trainer._num_epochs))


def epoch_line(metrics: Metrics, epoch: int, num_epochs: int) -> str:
    """Summarises an epoch, counted from 0, in one line.

    Example:
        >>> epoch_line({"training_loss": 2.5, "validation_loss": 1.25, "best_epoch": 0}, 0, 50)
        'epoch 1 of 50: training loss 2.500, validation loss 1.250, the best so far'
    """
    numbers = {name: value for name, value in metrics.items() if isinstance(value, (int, float))}
    losses = [name for name in ("training_loss", "validation_loss") if name in numbers]
    parts = [f"{name.replace('_', ' ')} {numbers[name]:.3f}" for name in losses]
    validation = {name.removeprefix("validation_"): numbers[name] for name in numbers}
    parts += [f"{name} {value:.4f}" for name, value in progress_metrics(validation).items()]
    # Without validation data, AllenNLP counts every epoch as the best.
    if metrics.get("best_epoch") == epoch and "validation_loss" in metrics:
        parts.append("the best so far")
    return f"epoch {epoch + 1} of {num_epochs}: {', '.join(parts)}"


class EpochMetricsCallback(TrainerCallback):
    """Writes an epoch's file of metrics again, with those that other callbacks have added.

    A run that resumes after its last epoch takes its metrics from there.
    """

    def on_epoch(
        self, trainer: Trainer, metrics: Metrics, epoch: int, is_primary: bool = True, **kwargs: Any
    ) -> None:
        if is_primary:
            path = Path(self.serialization_dir, f"metrics_epoch_{epoch}.json")
            with write_atomically(path, overwrite=True) as new:
                dump_metrics(str(new), metrics)


@TrainerCallback.register("log_clipping")
class LogClippingCallback(TrainerCallback):
    """Logs at the end of training how often the trainer's `grad_norm` clipped gradients.

    If most steps are clipped, the learning rate has lost its meaning. Each epoch's share of clipped
    steps, from 0 to 1, is also the metric `training_share-clipped`. Without a `grad_norm`, there is
    neither; if nothing was clipped, no line is logged.
    """

    def __init__(self, serialization_dir: str) -> None:
        super().__init__(serialization_dir)
        self._norms: List[float] = []
        # The number of steps in finished epochs, and how many of them were clipped.
        self._counts = [0, 0]

    def on_batch(self, *args: Any, **kwargs: Any) -> None:
        norm = kwargs.get("batch_grad_norm")
        if kwargs["is_training"] and norm is not None:
            self._norms.append(norm)

    def on_epoch(
        self, trainer: Trainer, metrics: Metrics, epoch: int, is_primary: bool = True, **kwargs: Any
    ) -> None:
        limit, norms = trainer._grad_norm, self._norms
        self._norms = []
        # `True` means to compute norms without clipping.
        if isinstance(limit, bool) or not norms:
            return
        num_clipped = sum(norm > limit for norm in norms)
        self._counts = [self._counts[0] + len(norms), self._counts[1] + num_clipped]
        metrics["training_share-clipped"] = num_clipped / len(norms)

    def on_end(self, trainer: Trainer, *args: Any, is_primary: bool = True, **kwargs: Any) -> None:
        num_steps, num_clipped = self._counts
        if is_primary and num_clipped:
            logger.info(
                "`grad_norm` %g clipped the gradients of %.1f %% of %d steps",
                *(trainer._grad_norm, 100 * num_clipped / num_steps, num_steps),
            )

    def state_dict(self) -> Dict[str, Any]:
        return {"counts": self._counts, "norms": self._norms}

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        self._counts, self._norms = state_dict["counts"], state_dict["norms"]


@TrainerCallback.register("show_metrics")
class ShowMetricsCallback(TrainerCallback):
    """At the end of training, shows a table of the best epoch's metrics on the validation data.

    It also adds label confusions to `metrics.json`, under names such as
    `best_validation_confusion-LOC>PER`.
    """

    def __init__(self, serialization_dir: str) -> None:
        super().__init__(serialization_dir)
        self._confusions: Dict[str, int] = {}

    def on_epoch(
        self, trainer: Trainer, metrics: Metrics, epoch: int, is_primary: bool = True, **kwargs: Any
    ) -> None:
        if metrics["best_epoch"] == epoch:
            self._confusions = getattr(trainer, "validation_confusions", {})

    def on_end(
        self,
        trainer: Trainer,
        metrics: Optional[Metrics] = None,
        *args: Any,
        is_primary: bool = True,
        **kwargs: Any,
    ) -> None:
        # After an error there are no metrics; without validation data, none of the best epoch.
        if metrics is None or metrics["best_epoch"] is None or not best_metrics(metrics):
            return
        metrics.update((BEST_PREFIX + name, number) for name, number in self._confusions.items())
        if is_primary:
            table = format_metrics(best_metrics(metrics))
            show_last(f"Metrics on the validation data in epoch {metrics['best_epoch'] + 1}", table)

    def state_dict(self) -> Dict[str, Any]:
        return {"confusions": self._confusions}

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        self._confusions = state_dict["confusions"]


@TrainerCallback.register("tune_thresholds")
class TuneThresholdsCallback(TrainerCallback):
    """Tunes every `LabelThresholds` of a model at the end of each pass over the development data.

    Each pass reports its metrics at the tuned thresholds, and these determine the best epoch. Its
    thresholds are saved with its weights. Tuning stops when training ends, so neither `allennlp
    evaluate` nor the evaluation on test data after training changes a threshold. (A model could not tell
    these apart; a callback can.) `allennlp tune-decoding` tunes a saved model in the same way.

    Args:
        serialization_dir: The folder of the run; supplied by the trainer.
        target: The goal: `"micro"` or `"macro"` F1, or `{"precision": 0.9}` or `{"recall": 0.9}` for
            each label; see `tagger.training.thresholds.tune_thresholds`.
        least_positives: A label's threshold is tuned only if at least this many items of the development
            data have the label. A threshold tuned on one or two items may predict the label everywhere
            in other data.
        common: Whether all labels share one threshold, for `"micro"` or `"macro"` F1, regardless of
            `least_positives`. It overfits less than a threshold per label, and also works for labels
            that do not occur in the development data.

    Raises:
        ConfigurationError: If the target is unknown or does not suit a common threshold, or if
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

    def on_start(self, trainer: Trainer, is_primary: bool = True, **kwargs: Any) -> None:
        super().on_start(trainer, is_primary, **kwargs)
        self._thresholds = list(thresholds_of(trainer.model).values())
        if not self._thresholds:
            raise ConfigurationError(
                "`tune_thresholds` needs a model with thresholds, such as a `sequence_tagger` with the "
                "head `sigmoid`; leave the callback out"
            )
        for each in self._thresholds:
            each.start_tuning(self._tuner)

    def on_end(self, *args: Any, **kwargs: Any) -> None:
        for each in self._thresholds:
            each.stop_tuning()
