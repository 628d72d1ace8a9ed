"""The base of models that show tables of their metrics."""

from typing import Dict, List

from allennlp.models import Model

from tagger.common.console import show_last
from tagger.metrics import format_metrics, progress_metrics


class MeasuredModel(Model):
    """A model that shows tables of its metrics at the end of `allennlp evaluate`.

    A trainer asks for metrics after every epoch, and its callback `show_metrics` shows those of the
    best epoch when training ends.

    Attributes:
        training_metrics: Whether training steps compute metrics.
        is_in_training: Whether metrics are those of one of many epochs, as the trainer says.
    """

    training_metrics: bool = False
    is_in_training: bool = False

    def get_all_metrics(self, reset: bool) -> Dict[str, float]:
        """Returns all metrics since the last reset, but no confusions; resets them if asked to."""
        raise NotImplementedError

    def get_confusions(self) -> Dict[str, int]:
        """Returns how often each label was predicted as each other since the last reset, if counted."""
        return {}

    def get_partial_metrics(self) -> Dict[str, float]:
        """Returns metrics of partly right spans since the last reset, if they are counted."""
        return {}

    def get_tables(self) -> List[str]:
        """Returns further tables since the last reset, to show below that of the metrics."""
        return []

    def get_metrics(self, reset: bool = False) -> Dict[str, float]:
        """Returns the metrics since the last reset; none in training steps that compute none.

        Without `reset`, which ends a pass over the data, they are the few that fit on the trainer's
        progress bar. An evaluation's metrics include partial matches and confusions. A trainer does not
        get them, because it would print hundreds of numbers.
        """
        if self.training and not self.training_metrics:
            return {}
        if not reset or self.is_in_training:
            metrics = self.get_all_metrics(reset)
            return metrics if reset else progress_metrics(metrics)
        more = {**self.get_partial_metrics(), **self.get_confusions()}
        tables = self.get_tables()
        metrics = {**self.get_all_metrics(reset), **more}
        show_last("Metrics", "\n\n".join([format_metrics(metrics), *tables]))
        return metrics

    def _maybe_warn_for_unseparable_batches(self, output_key: str) -> None:
        # A loss is of the batch; nobody expects a part of it for each instance.
        if output_key != "loss":
            super()._maybe_warn_for_unseparable_batches(output_key)
