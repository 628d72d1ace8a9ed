"""Shows the metrics of the best epoch when training ends."""

from typing import Any, Dict, Optional

from allennlp.training import GradientDescentTrainer
from allennlp.training.callbacks import TrainerCallback

from tagger.common.console import show_last
from tagger.metrics import best_metrics, format_metrics
from tagger.metrics.metrics_table import BEST_PREFIX
from tagger.models.measured_model import MeasuredModel


@TrainerCallback.register("show_metrics")
class ShowMetricsCallback(TrainerCallback):
    """Shows a table of the best epoch's metrics on the validation data when training ends.

    It also adds the confusions of labels to `metrics.json`, as `best_validation_confusion-LOC>PER` and
    so on. Evaluations after training, such as that of test data, have a table too.
    """

    def __init__(self, serialization_dir: str) -> None:
        super().__init__(serialization_dir)
        self._confusions: Dict[str, int] = {}

    def on_start(
        self, trainer: GradientDescentTrainer, is_primary: bool = True, **kwargs: Any
    ) -> None:
        super().on_start(trainer, is_primary, **kwargs)
        if isinstance(trainer.model, MeasuredModel):
            trainer.model.is_in_training = True

    def on_epoch(
        self,
        trainer: GradientDescentTrainer,
        metrics: Dict[str, Any],
        epoch: int,
        is_primary: bool = True,
        **kwargs: Any,
    ) -> None:
        if isinstance(trainer.model, MeasuredModel) and metrics["best_epoch"] == epoch:
            self._confusions = trainer.model.confusions

    def on_end(
        self,
        trainer: GradientDescentTrainer,
        metrics: Optional[Dict[str, Any]] = None,
        epoch: Optional[int] = None,
        is_primary: bool = True,
        **kwargs: Any,
    ) -> None:
        if isinstance(trainer.model, MeasuredModel):
            trainer.model.is_in_training = False
        # There are no metrics after an error.
        if metrics is None or metrics["best_epoch"] is None:
            return
        metrics.update((BEST_PREFIX + name, number) for name, number in self._confusions.items())
        if is_primary:
            table = format_metrics(best_metrics(metrics))
            show_last(f"Metrics on the validation data in epoch {metrics['best_epoch'] + 1}", table)

    def state_dict(self) -> Dict[str, Any]:
        return {"confusions": self._confusions}

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        self._confusions = state_dict["confusions"]
