"""Lines of a file as inputs of `predict-file`."""

import hashlib
import itertools
import json
from copy import copy
from types import MappingProxyType
from typing import (
    Any,
    Callable,
    Dict,
    Iterable,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
)

from allennlp.common.checks import ConfigurationError
from allennlp.common.util import JsonDict, SigTermReceived
from allennlp.predictors import Predictor

from tagger.common.did_you_mean import did_you_mean
from tagger.common.inputs import lines_of, open_stored, stored_size, unpacked
from tagger.data.formats import INPUTS
from tagger.predictors.batched_predictor import BatchedPredictor
from tagger_texts.prediction import Prediction

#: How many lines show the keys of inputs, and how the cells of a table are separated.
NUM_LINES = 400


class Line(NamedTuple):
    """An input line: its number, from 1, its text and its file; invalid UTF-8 becomes surrogates.

    `kept` is JSON with the keys to keep, unless they are in the text.
    """

    number: int
    text: str
    path: str
    kept: str = "{}"


class LineInputs:
    """The lines of a file. As in `allennlp predict`, only our predictors get blank lines.

    A line that cannot be predicted ends the run; with `skips_errors`, it becomes an error object.
    """

    #: The stored size of the file, if known, and how many of these bytes have been read.
    num_bytes: Optional[int] = None
    num_bytes_read = 0
    #: The columns or keys of the inputs beside the texts, as far as the inputs were read.
    others: Sequence[str] = ()
    #: The keys or columns that go into the output.
    keep: Sequence[str] = ()
    #: The word for an input in messages.
    unit = "line"
    #: How to resume after an error, for messages.
    remedy = "correct the {unit}, or add --on-error skip, and repeat the command to go on"

    def __init__(self, predictor: Predictor, path: str, skips_errors: bool = False) -> None:
        self._predictor = predictor
        self.path = path
        self.skips_errors = skips_errors
        self._skips_blanks = not isinstance(predictor, BatchedPredictor)

    def __iter__(self) -> Iterator[Line]:
        with open_stored(self.path) as stored, unpacked(stored, self.path) as file:
            self.num_bytes = stored_size(stored)
            for number, text in lines_of(file, self.path):
                self.num_bytes_read = stored.tell()
                if not self._skips_blanks or text.strip():
                    yield Line(number, text, self.path)

    def keeping(self, keep: Sequence[str], can_skip: bool = True) -> "LineInputs":
        """Sets the keys or columns for the output, and whether errors may be skipped, for messages.

        Raises an error if none of the first inputs has one of the keys.
        """
        if not can_skip:
            self.remedy = "correct the {unit}, and repeat the command to go on"
        names = dict.fromkeys(self.names()) if keep else ()
        for key in keep:
            if key not in names or key in (*Prediction._fields, "error"):
                remedy = f"a key of predictions too; rename it in {self.path}"
                if key not in names:
                    known = f"the others are {', '.join(names)}" if names else "there is no other"
                    remedy = f"no key or column beside the texts of {self.path}; {known}"
                raise ConfigurationError(f"`--keep` {key} is {remedy}{did_you_mean(key, names)}")
        self.keep = keep
        return self

    def names(self) -> Iterable[str]:
        """Yields the names of what the first inputs have beside the texts."""
        for line in itertools.islice(self, NUM_LINES):
            given, _ = _attempt(self._load, line)
            yield from (key for key in given or () if key not in {*INPUTS, "text"})

    def _kept_of(self, given: Mapping[str, Any]) -> str:
        kept = {key: given[key] for key in self.keep if key in given}
        return json.dumps(kept, ensure_ascii=False, default=str)

    def of(self, path: str) -> "LineInputs":
        """Returns the inputs of another file, for reading only: they have no predictor."""
        others = copy(self)
        others.path = path
        del others._predictor
        return others

    def digest(self, lines: List[Any], before: str) -> str:
        """Returns a digest of lines and all earlier ones; `before` is the digest of those, or empty."""
        digest = hashlib.sha256(before.encode())
        for line in lines:
            digest.update(line.text.encode(errors="surrogateescape"))
            digest.update(line.kept.encode() if self.keep else b"")
        return digest.hexdigest()

    def predict(self, lines: List[Any]) -> Tuple[List[bytes], int]:
        """Returns an output line for each input line, and how many lines were skipped."""
        outputs: Dict[Line, bytes] = {}
        inputs: Dict[Line, JsonDict] = {}
        for line in lines:
            inputs[line], error = _attempt(self._load, line)
            if error is not None:
                outputs[line] = self._error_object(line, error)
                del inputs[line]
        kept = {line: self._kept(line, given) for line, given in inputs.items()}
        predictions, error = _attempt(self._predict, inputs)
        if error is not None:
            # Leave out the lines that fail. If none does, the error is raised again.
            check = getattr(self._predictor, "check", self._predictor._json_to_instance)
            for line, each in list(inputs.items()):
                _, error = _attempt(check, each)
                if error is not None:
                    outputs[line] = self._error_object(line, error, kept[line])
                    del inputs[line]
            predictions = self._predict(inputs)
        num_errors = len(outputs)
        for line, found in predictions.items():
            outputs[line] = encoded(self._predictor, {**kept[line], **found})
        return [outputs[line] for line in lines], num_errors

    def _load(self, line: Line) -> JsonDict:
        # Decoding turns surrogates back into bytes, and fails for invalid UTF-8.
        try:
            text = line.text.encode(errors="surrogateescape").decode()
        except UnicodeDecodeError as error:
            raise ValueError(
                f"expected UTF-8, got byte 0x{error.object[error.start]:02x} at position {error.start}; "
                "convert the file, if it is Latin-1 with `iconv -f latin1 -t utf-8`"
            ) from None
        return self._predictor.load_line(text)

    def _kept(self, line: Line, given: JsonDict) -> JsonDict:
        """Returns the keys of an input to keep, and takes them out of what is predicted."""
        kept = json.loads(line.kept) if self.keep else {}
        return {**kept, **{key: given.pop(key) for key in self.keep if key in given}}

    def _predict(self, inputs: Dict[Line, JsonDict]) -> Dict[Line, JsonDict]:
        predictions = self._predictor.predict_batch_json(list(inputs.values())) if inputs else []
        return dict(zip(inputs, predictions))

    def _error_object(
        self, line: Line, error: Exception, kept: Mapping[str, Any] = MappingProxyType({})
    ) -> bytes:
        message = str(error) if isinstance(error, ValueError) else repr(error)
        if not self.skips_errors:
            raise ConfigurationError(
                f"{self._place(line)}: {message}; {self.remedy.format(unit=self.unit)}"
            ) from error
        return encoded(self._predictor, {**kept, "error": message, self.unit: line.number})

    def _place(self, line: Line) -> str:
        return f"{line.path}:{line.number}"


def encoded(predictor: Predictor, output: JsonDict) -> bytes:
    """Returns an output line. Half of a surrogate pair, as in an error, becomes a JSON escape."""
    return predictor.dump_line(output).encode(errors="backslashreplace")


def _attempt(function: Callable[[Any], Any], argument: Any) -> Tuple[Any, Optional[Exception]]:
    """Calls a function; returns its result or its error."""
    try:
        return function(argument), None
    except SigTermReceived:
        raise
    except Exception as error:
        return None, error
