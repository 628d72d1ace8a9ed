"""The base class of all predictors, which predicts many inputs in batches of similar length."""

import itertools
import logging
import time
from operator import itemgetter
from typing import Any, Dict, Iterable, List, Optional

import numpy as np
import torch
from allennlp.common.util import JsonDict
from allennlp.data import DatasetReader, Instance
from allennlp.models import Model
from allennlp.nn.util import move_to_device
from allennlp.predictors import Predictor

from tagger.common.outputs import json_line
from tagger.common.ranges import check_whole
from tagger.common.threads import BATCHES_AT_ONCE, run_side_by_side
from tagger.data import NumericSequencesDatasetReader
from tagger.data.data_loaders.batch_order import in_chunks
from tagger.data.data_loaders.columns import collect_columns
from tagger_texts.batches import batches_within
from tagger_texts.inputs import InputError, begin_of, parse_json
from tagger_texts.prediction import Prediction

logger = logging.getLogger(__name__)

# Inputs are sorted by length in chunks of this many tokens.
_SORTED_TOKENS = 2**16


class BatchedPredictor(Predictor):
    """Predicts any number of inputs in batches of similar length.

    Predictions keep the order of the inputs. On a CPU, up to eight batches are predicted concurrently
    and share PyTorch's threads. The throughput is logged every 30 seconds.

    Args:
        model: A `MeasuredModel` that takes instances with a `TextField` named `tokens`.
        dataset_reader: Makes these instances; without labels, if it reads numbers.
        frozen: Whether to put the model into evaluation mode.
        batch_tokens: The largest number of tokens in a batch, padding included.
        plain: Whether every input line is text, even if it looks like JSON.
    """

    #: The field with the gold annotation, which the predictor removes from instances.
    gold_field = "tags"
    #: The key of the text in a JSON object.
    text_key = "sentence"
    #: The accepted forms of an input line, for error messages.
    line_formats = 'plain text, {"sentence": "..."} or {"tokens": ["...", "..."]}'

    def __init__(
        self,
        model: Model,
        dataset_reader: DatasetReader,
        frozen: bool = True,
        batch_tokens: int = 2048,
        plain: bool = False,
    ) -> None:
        self._numbers: Optional[NumericSequencesDatasetReader] = None
        if isinstance(dataset_reader, NumericSequencesDatasetReader):
            self._numbers = dataset_reader = dataset_reader.without_labels()
        super().__init__(model, dataset_reader, frozen)
        check_whole("batch_tokens", batch_tokens)
        self._batch_tokens = batch_tokens
        self.plain = plain
        self.throughput = Throughput()

    @property
    def model(self) -> Any:
        """The model."""
        return self._model

    @property
    def dataset_reader(self) -> DatasetReader:
        """Makes instances for the model."""
        return self._dataset_reader

    @property
    def reads_numbers(self) -> bool:
        """Whether inputs are sequences of numbers, and not texts."""
        return self._numbers is not None

    def load_line(self, line: str) -> JsonDict:
        """Reads an input line: a JSON object or plain text, without its line end.

        Raises:
            ValueError: For a JSON list, a repeated field, or a line that starts with a brace but is not
                a JSON object.
        """
        text = {self.text_key: line.rstrip("\r\n")}
        # A file may begin with a byte order mark, but JSON does not.
        line = line[begin_of(line) :].strip()
        # Numbers and quoted words are valid JSON too, but are common lines of text.
        if self.plain or not line.startswith(("{", "[")):
            return text
        try:
            inputs = parse_json(line)
        except InputError:
            raise
        except (ValueError, RecursionError) as error:
            if line.startswith("{"):
                raise ValueError(
                    f"`line` starts with a brace but is no JSON object ({error}); give "
                    f"{self.line_formats}: {line[:200]}"
                ) from error
            return text
        if not isinstance(inputs, dict):
            raise ValueError(
                f"`line` is a JSON list, not an object; give {self.line_formats}, or set `plain` to "
                f"take every line as text: {line[:200]}"
            )
        return inputs

    def dump_line(self, outputs: JsonDict) -> str:
        """Returns a prediction as a line of JSON.

        Only control characters and line separators (as in `str.splitlines`) are escaped.
        """
        return json_line(outputs)

    def check(self, json_dict: JsonDict) -> None:
        """Raises an error if an input from `load_line` cannot be predicted."""
        self._json_to_instance(json_dict)

    def predict_instance(self, instance: Instance) -> JsonDict:
        return self.predict_batch_instance([instance])[0]

    def predict_instances(self, instances: List[Instance]) -> List[Prediction]:
        """Predicts any number of instances and keeps their order.

        Instances are split into parts of at most one batch; on a CPU, several parts run concurrently.
        """
        self.throughput.start()
        num_tokens = np.array([len(instance["tokens"]) for instance in instances])
        # Chunks keep the sentences of a document together, and so the features that they share.
        parts = [
            [block[index] for index in part]
            for block in in_chunks(num_tokens.tolist(), _SORTED_TOKENS)
            for part in batches_within(num_tokens[block], self._batch_tokens)
        ]
        calls = [([instances[index] for index in part],) for part in parts]
        on_cpu = self._model._get_prediction_device() < 0
        predicted = run_side_by_side(self._predict_part, calls, BATCHES_AT_ONCE if on_cpu else 1)
        self.throughput.add(len(instances), int(num_tokens.sum()))
        return _in_order(parts, predicted)

    def _predict_part(self, instances: List[Instance]) -> List[Prediction]:
        """Predicts instances that fit into one batch, counted in tokens."""
        columns = collect_columns(map(self._indexed, instances))
        # Lengths of instances (N,) may be in word pieces, more than tokens, and need several batches.
        lengths = np.max([column.lengths() for column in columns.values()], axis=0)
        parts = batches_within(lengths, self._batch_tokens)
        batches = ({name: each.batch(part) for name, each in columns.items()} for part in parts)
        return _in_order(parts, map(self._predict_batch, batches))

    def _indexed(self, instance: Instance) -> Instance:
        self._dataset_reader.apply_token_indexers(instance)
        inputs = {name: field for name, field in instance.items() if name != self.gold_field}
        instance = Instance(inputs)
        instance.index_fields(self._model.vocab)
        return instance

    def _predict_batch(self, batch: Dict[str, Any]) -> List[Prediction]:
        device = self._model._get_prediction_device()
        with torch.inference_mode():
            # On a CPU, skip `move_to_device`, which would walk through all of the metadata.
            output = self._run(move_to_device(batch, device) if device >= 0 else batch)
            return self.model.predictions(output)

    def _run(self, batch: Dict[str, Any]) -> Dict[str, Any]:
        return self._model(**batch)


def _in_order(parts: Iterable[Any], predicted: Iterable[List[Prediction]]) -> List[Prediction]:
    """Returns in order what was predicted for parts of the instances, given as indices."""
    found = zip(itertools.chain(*parts), itertools.chain(*predicted))
    return [prediction for _, prediction in sorted(found, key=itemgetter(0))]


class Throughput:
    """Logs predictions per second every `interval` seconds, once `least` seconds have passed."""

    def __init__(self, interval: float = 30.0, least: float = 1.0) -> None:
        self._interval = interval
        self.least = least
        self._num_sentences = 0
        self._num_tokens = 0
        self._started: Optional[float] = None
        self._ended = 0.0
        self._logged = 0.0

    def start(self) -> None:
        """Starts the clock on the first call, so that start-up is not measured."""
        if self._started is None:
            self._started = self._logged = time.perf_counter()

    def add(self, num_sentences: int, num_tokens: int) -> None:
        """Adds the predictions made since the last call."""
        self._num_sentences += num_sentences
        self._num_tokens += num_tokens
        self._ended = time.perf_counter()
        if self._ended - self._logged >= self._interval:
            self.log()

    def log(self) -> None:
        """Logs counts and rates, unless there is too little to measure."""
        if self._started is None or self._num_sentences < 2:
            return
        seconds = max(self._ended - self._started, 1e-9)
        if seconds < self.least:
            return
        self._logged = self._ended
        counts = (self._num_sentences, self._num_tokens)
        logger.info(
            "predicted %d sentences, %d tokens in %.1f s: %.0f sentences/s, %.0f tokens/s",
            *(*counts, seconds, *(count / seconds for count in counts)),
        )
