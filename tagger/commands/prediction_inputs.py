"""What `predict-file` reads and predicts: lines of text or JSON, or instances of a dataset reader."""

import hashlib
from pathlib import Path
from typing import Any, Iterator, List

from allennlp.common.file_utils import cached_path, open_compressed
from allennlp.data import Instance
from allennlp.predictors import Predictor


class LineInputs:
    """The lines of a file that are not blank.

    Args:
        predictor: Loads and predicts the lines.
        path: The file; it may be compressed.
    """

    def __init__(self, predictor: Predictor, path: str) -> None:
        self._predictor = predictor
        self._path = path

    def __iter__(self) -> Iterator[str]:
        with open_compressed(cached_path(self._path)) as lines:
            yield from (line for line in lines if line.removeprefix("\ufeff").strip())

    def digest(self, lines: List[Any], before: str) -> str:
        """Returns a digest of lines and of all lines before them.

        Args:
            lines: The lines.
            before: The digest of the lines before; empty at the start.
        """
        digest = hashlib.sha256(before.encode())
        for line in lines:
            digest.update(line.encode())
        return digest.hexdigest()

    def predict(self, lines: List[Any]) -> List[bytes]:
        """Returns an output line for each input line."""
        inputs = [self._predictor.load_line(line) for line in lines]
        predictions = self._predictor.predict_batch_json(inputs)
        return [self._predictor.dump_line(prediction).encode() for prediction in predictions]


class InstanceInputs:
    """The instances of a file that the model's dataset reader reads.

    Args:
        predictor: Has the dataset reader, and predicts the instances.
        path: What the dataset reader takes.
    """

    def __init__(self, predictor: Predictor, path: str) -> None:
        self._predictor = predictor
        self._path = path
        self._digest = _digest_of_file(path) if Path(path).is_file() else ""

    def __iter__(self) -> Iterator[Instance]:
        return iter(self._predictor._dataset_reader.read(self._path))

    def digest(self, instances: List[Any], before: str) -> str:
        """Returns a digest of the whole file, because instances have none."""
        return self._digest

    def predict(self, instances: List[Any]) -> List[bytes]:
        """Returns an output line for each instance."""
        predictions = self._predictor.predict_batch_instance(instances)
        return [self._predictor.dump_line(prediction).encode() for prediction in predictions]


def _digest_of_file(path: str) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
