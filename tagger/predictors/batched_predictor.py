"""What the predictors share: batches of like length out of many inputs."""

import gc
import weakref
from typing import Any, Callable, Dict, List

import numpy as np
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import JsonDict
from allennlp.data import DatasetReader, Instance
from allennlp.models import Model
from allennlp.nn.util import move_to_device
from allennlp.predictors import Predictor

from tagger.data.data_loaders.batch_order import batches_within
from tagger.data.data_loaders.columns import collect_columns
from tagger.predictors.throughput import Throughput
from tagger.threads import run_side_by_side

#: On a CPU with as many cores, where a batch takes some megabytes.
_PARTS_AT_ONCE = 8


class BatchedPredictor(Predictor):
    """Predicts as many inputs as it is given at once, in batches of like length.

    So `--batch-size` of `allennlp predict` says how many lines are read, sorted by length, predicted and
    written before the next are read; memory does not grow with the file. Predictions come in the order
    of the inputs. On a CPU up to eight batches are predicted side by side, and share PyTorch's threads.
    The log says from time to time, and in the end, how many there were in a second.

    Args:
        model: whose instances have a `TextField` named `tokens`.
        dataset_reader: makes these instances.
        frozen: whether the model is in evaluation mode.
        batch_tokens: how many tokens a batch has at most, its padding included.

    Raises:
        ConfigurationError: if `batch_tokens` is not positive.
    """

    #: The field of what is to be predicted, which is left out even where it is known.
    gold = "tags"

    def __init__(
        self,
        model: Model,
        dataset_reader: DatasetReader,
        frozen: bool = True,
        batch_tokens: int = 2048,
    ) -> None:
        super().__init__(model, dataset_reader, frozen)
        if batch_tokens < 1:
            raise ConfigurationError(f"`batch_tokens` must be at least 1; got {batch_tokens}")
        self._batch_tokens = batch_tokens
        self._throughput = Throughput()
        # What is loaded by now stays; Python need not search it for garbage again and again.
        gc.freeze()
        # The command `predict` does not tell when it is done.
        weakref.finalize(self, self._throughput.log)

    def predict_instance(self, instance: Instance) -> JsonDict:
        """Predicts one instance of the dataset reader."""
        return self.predict_batch_instance([instance])[0]

    def predict_batch_instance(self, instances: List[Instance]) -> List[JsonDict]:
        """Predicts instances of the dataset reader, any number of them."""
        return self._in_parts(self._predict_part, instances)

    def _in_parts(
        self, predict: Callable[..., List[JsonDict]], instances: List[Instance], *others: List[Any]
    ) -> List[JsonDict]:
        """Predicts in parts of a batch's size, on a CPU side by side.

        Args:
            predict: predicts a part.
            instances: of which some are given to it.
            *others: as many things, which belong to them and are given to it too.
        """
        self._throughput.start()
        num_tokens = np.array([len(instance["tokens"]) for instance in instances])
        parts = [part.tolist() for part in batches_within(num_tokens, self._batch_tokens)]
        calls = [
            tuple([values[index] for index in part] for values in (instances, *others))
            for part in parts
        ]
        on_cpu = self._model._get_prediction_device() < 0
        predicted = run_side_by_side(predict, calls, _PARTS_AT_ONCE if on_cpu else 1)
        predictions: List[JsonDict] = [{} for _ in instances]
        for part, of_part in zip(parts, predicted):
            for index, prediction in zip(part, of_part):
                predictions[index] = prediction
        self._throughput.add(len(instances), int(num_tokens.sum()))
        return predictions

    def _predict_part(self, instances: List[Instance]) -> List[JsonDict]:
        """What the model says of instances so few that their tokens fit into a batch."""
        columns = collect_columns(map(self._indexed, instances))
        # Of each instance; in word pieces, which are more than tokens, they may not fit into one batch.
        lengths = np.max([column.lengths() for column in columns.values()], axis=0)
        predictions: List[JsonDict] = [{} for _ in instances]
        for indices in batches_within(lengths, self._batch_tokens):
            batch = {name: column.batch(indices) for name, column in columns.items()}
            for name, values in self._outputs(batch).items():
                for index, value in zip(indices.tolist(), values):
                    predictions[index][name] = value
        return predictions

    def _indexed(self, instance: Instance) -> Instance:
        self._dataset_reader.apply_token_indexers(instance)
        known = {name: field for name, field in instance.items() if name != self.gold}
        instance = Instance(known)
        instance.index_fields(self._model.vocab)
        return instance

    def _outputs(self, batch: Dict[str, Any]) -> Dict[str, List[Any]]:
        """What the model says of a batch: by name, a list of one entry for each instance."""
        device = self._model._get_prediction_device()
        with torch.inference_mode():
            # AllenNLP moves word by word what is not a tensor, even if there is nothing to move.
            outputs = self._model(**(move_to_device(batch, device) if device >= 0 else batch))
            outputs = self._model.make_output_human_readable(outputs)
        return {
            name: values.tolist() if isinstance(values, torch.Tensor) else values
            for name, values in outputs.items()
        }
