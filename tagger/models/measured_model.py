"""The base of models with metrics that are shown as tables."""

from typing import Any, Dict, List, Sequence

import torch
from allennlp.data import Batch, Instance
from allennlp.models import Model
from allennlp.nn.util import move_to_device

from tagger.metrics import progress_metrics
from tagger_texts.prediction import Prediction


class MeasuredModel(Model):
    """A model with partial matches, confusions and tables besides its metrics.

    The evaluator shows them. In training, the callback `show_metrics` shows those of the best
    epoch.

    Attributes:
        training_metrics: Whether training steps compute metrics.
        is_in_training: Whether metrics are those of one of many epochs; the trainer sets it.
    """

    training_metrics: bool = False
    is_in_training: bool = False

    def predictions(self, output: Dict[str, Any]) -> List[Prediction]:
        """Returns the predictions for a batch, given what `forward` returned, which it may change."""
        raise NotImplementedError

    @torch.no_grad()
    def predict_instances(self, instances: Sequence[Instance]) -> List[Prediction]:
        """Predicts a batch like `forward_on_instances`, but returns no dictionaries."""
        batch = Batch(instances)
        batch.index_instances(self.vocab)
        tensors = move_to_device(batch.as_tensor_dict(), self._get_prediction_device())
        return self.predictions(self(**tensors))

    def get_all_metrics(self, reset: bool) -> Dict[str, float]:
        """Returns all metrics since the last reset, but no confusions; resets them if `reset`."""
        raise NotImplementedError

    def get_confusions(self) -> Dict[str, int]:
        """Returns how often each label was predicted as each other since the last reset, if counted."""
        return {}

    def get_partial_metrics(self) -> Dict[str, float]:
        """Returns metrics of partly right spans since the last reset, if they are counted."""
        return {}

    def get_tables(self) -> List[str]:
        """Returns further tables of the pass that the last reset ended, to show below the metrics."""
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
        return {**self.get_all_metrics(reset), **more}

    def _maybe_warn_for_unseparable_batches(self, output_key: str) -> None:
        # The loss belongs to the batch, not to its instances.
        if output_key != "loss":
            super()._maybe_warn_for_unseparable_batches(output_key)
