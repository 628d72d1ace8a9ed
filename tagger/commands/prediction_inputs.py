"""The inputs of `predict-file`: lines, rows of a table, or instances from a dataset reader."""

import hashlib
import itertools
import json
import re
from copy import copy
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from allennlp.common.checks import ConfigurationError
from allennlp.common.util import JsonDict, SigTermReceived
from allennlp.data import Instance
from allennlp.predictors import Predictor

from tagger.common.csv_rows import are_quoted, csv_rows, delimiter_of
from tagger.common.did_you_mean import did_you_mean
from tagger.common.inputs import (
    is_address,
    lines_of,
    open_input,
    open_stored,
    stored_size,
    unpacked,
)
from tagger.common.outputs import store_of
from tagger.common.parquet import batches, is_parquet, open_parquet
from tagger.data.formats import PLAIN_TAGS, is_csv, read_texts
from tagger.data.reading import Reading
from tagger.data.text_encodings import decoded_lines
from tagger.predictors.batched_predictor import BatchedPredictor

#: How many lines show how the cells of a table are separated.
_NUM_LINES = 400


class Line(NamedTuple):
    """An input line: its number, from 1, its text and its file; invalid UTF-8 becomes surrogates."""

    number: int
    text: str
    path: str


class LineInputs:
    """The lines of a file. As in `allennlp predict`, only our predictors get blank lines.

    A line that cannot be predicted ends the run; with `skips_errors`, it becomes an error object.
    """

    #: The stored size of the file, if known, and how many of these bytes have been read.
    num_bytes: Optional[int] = None
    num_bytes_read = 0
    #: The columns or keys of the inputs beside the texts, as far as the inputs were read.
    others: Sequence[str] = ()
    #: The word for an input in messages.
    unit = "line"
    #: How to resume after an error, for messages.
    remedy = "correct the {unit}, or add --on-error skip, and repeat the command to go on"

    def __init__(self, predictor: Predictor, path: str, skips_errors: bool = False) -> None:
        self._predictor = predictor
        self.path = path
        self._skips_errors = skips_errors
        self._skips_blanks = not isinstance(predictor, BatchedPredictor)

    def __iter__(self) -> Iterator[Line]:
        with open_stored(self.path) as stored, unpacked(stored, self.path) as file:
            self.num_bytes = stored_size(stored)
            for number, text in lines_of(file, self.path):
                self.num_bytes_read = stored.tell()
                if not self._skips_blanks or text.strip():
                    yield Line(number, text, self.path)

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
        predictions, error = _attempt(self._predict, inputs)
        if error is not None:
            # Leave out the lines that fail. If none does, the error is raised again.
            check = getattr(self._predictor, "check", self._predictor._json_to_instance)
            for line, each in list(inputs.items()):
                _, error = _attempt(check, each)
                if error is not None:
                    outputs[line] = self._error_object(line, error)
                    del inputs[line]
            predictions = self._predict(inputs)
        num_errors = len(outputs)
        outputs.update(predictions)
        return [outputs[line] for line in lines], num_errors

    def _load(self, line: Line) -> JsonDict:
        # Decoding turns surrogates back into bytes, and fails for invalid UTF-8.
        return self._predictor.load_line(line.text.encode(errors="surrogateescape").decode())

    def _predict(self, inputs: Dict[Line, JsonDict]) -> Dict[Line, bytes]:
        predictions = self._predictor.predict_batch_json(list(inputs.values())) if inputs else []
        return {
            line: _encoded(self._predictor, prediction)
            for line, prediction in zip(inputs, predictions)
        }

    def _error_object(self, line: Line, error: Exception) -> bytes:
        message = str(error) if isinstance(error, ValueError) else repr(error)
        if not self._skips_errors:
            raise ConfigurationError(
                f"{self._place(line)}: {message}; {self.remedy.format(unit=self.unit)}"
            ) from error
        return _encoded(self._predictor, {"error": message, self.unit: line.number})

    def _place(self, line: Line) -> str:
        return f"{line.path}:{line.number}"


def _encoded(predictor: Predictor, output: JsonDict) -> bytes:
    # Half of a surrogate pair, which an error may quote, becomes a JSON escape.
    return predictor.dump_line(output).encode(errors="backslashreplace")


def _attempt(function: Callable[[Any], Any], argument: Any) -> Tuple[Any, Optional[Exception]]:
    """Calls a function; returns its result or its error."""
    try:
        return function(argument), None
    except SigTermReceived:
        raise
    except Exception as error:
        return None, error


class RowInputs(LineInputs):
    """The rows of a Parquet file, each a text or a list of tokens, in the column `column`."""

    unit = "row"

    def __init__(
        self, predictor: Predictor, path: str, skips_errors: bool = False, column: str = "text"
    ) -> None:
        super().__init__(predictor, path, skips_errors)
        self._column = column

    def __iter__(self) -> Iterator[Line]:
        number = 0
        with open_stored(self.path) as stored, open_parquet(self.path) as file:
            self.num_bytes = stored_size(stored)
            for batch in batches(file, self._column):
                for value in batch.column(0).to_pylist():
                    number += 1
                    yield Line(number, json.dumps(value, ensure_ascii=False), self.path)
                # Columns and row groups may be anywhere in the file, so scale by the rows read.
                self.num_bytes_read = (self.num_bytes or 0) * number // file.metadata.num_rows

    def _load(self, line: Line) -> JsonDict:
        value = json.loads(line.text)
        return {"tokens" if isinstance(value, list) else _text_key(self._predictor): value}

    def _place(self, line: Line) -> str:
        return f"{line.path}, row {line.number}"


class CsvInputs(RowInputs):
    """The rows of CSV, or of columns separated by tabs, each with a text in the column `column`."""

    def __init__(
        self, predictor: Predictor, path: str, skips_errors: bool = False, column: str = "text"
    ) -> None:
        super().__init__(predictor, path, skips_errors, column)
        self._table = _Table.of(path)
        remedy = "; name that of the texts, or add --plain if each line is a text"
        _check_has_column(path, column, self._table.names, remedy)
        self.others = [name for name in self._table.names if name != column]

    def __iter__(self) -> Iterator[Line]:
        lines = (
            (number, text.removeprefix("\ufeff") if number == 1 else text)
            for number, text, _ in super(RowInputs, self).__iter__()
        )
        names, delimiter, is_quoted = self._table
        rows = filter(None, (row for _, row in csv_rows(lines, delimiter, self.path, is_quoted)))
        column = names.index(self._column)
        for number, row in enumerate(itertools.islice(rows, 1, None), 1):
            if len(row) != len(names):
                raise ConfigurationError(
                    f"{self.path}, row {number}: expected {len(names)} columns as in the header, got "
                    f"{len(row)}; correct the row"
                )
            yield Line(number, json.dumps(row[column], ensure_ascii=False), self.path)


class _Table(NamedTuple):
    """The names of a table's columns, what separates them, and whether cells may be quoted."""

    names: List[str]
    delimiter: str
    is_quoted: bool

    @classmethod
    def of(cls, path: str) -> "_Table":
        with open_input(path) as lines:
            first = [line for _, line in itertools.islice(decoded_lines(lines, path), _NUM_LINES)]
        delimiter = delimiter_of(first[0] if first else "")
        is_quoted = are_quoted(first, delimiter)
        rows = (row for _, row in csv_rows(enumerate(first, 1), delimiter, path, is_quoted))
        return cls(next(filter(None, rows), [""]), delimiter, is_quoted)


def _check_has_column(path: str, column: str, names: Sequence[str], remedy: str = "") -> None:
    """Rejects Parquet and CSV without the input column."""
    if column not in names:
        raise ConfigurationError(
            f"`--text-column` {column} is no column of {path} ({', '.join(names)})"
            f"{did_you_mean(column, names)}{remedy}"
        )


def _text_key(predictor: Predictor) -> str:
    """Returns the key under which a predictor takes a text."""
    return getattr(predictor, "text_key", "sentence")


class TextInputs(LineInputs):
    """The texts of a file in an annotation tool's or library's format, without their annotations.

    They are predicted as documents if the predictor's dataset reader reads documents.
    """

    unit = "text"

    def __init__(
        self, predictor: Predictor, path: str, skips_errors: bool = False, format: str = "doccano"
    ) -> None:
        super().__init__(predictor, path, skips_errors)
        self._format = format
        reads_documents = getattr(predictor._dataset_reader, "reads_documents", False)
        self._key = "document" if reads_documents else _text_key(predictor)

    def __iter__(self) -> Iterator[Line]:
        others: List[str] = []
        self.others = others
        for number, text in enumerate(
            read_texts(self.path, Reading(self._format, labelled=False)), 1
        ):
            others += (key for key in text.properties if key not in (PLAIN_TAGS, *others))
            yield Line(number, text.text, self.path)

    def _load(self, line: Line) -> JsonDict:
        return {self._key: line.text}

    def _place(self, line: Line) -> str:
        return f"{line.path}, text {line.number}"


class InstanceInputs:
    """The instances that the predictor's dataset reader makes of a file."""

    num_bytes = None
    num_bytes_read = 0
    others: Sequence[str] = ()

    def __init__(self, predictor: Predictor, path: str) -> None:
        self._predictor = predictor
        self.path = path
        digest = hashlib.sha256()
        with open_stored(path) as file:
            while block := file.read(1 << 20):
                digest.update(block)
        self._digest = digest.hexdigest()

    def __iter__(self) -> Iterator[Instance]:
        return iter(self._predictor._dataset_reader.read(self.path))

    def digest(self, instances: List[Any], before: str) -> str:
        """Returns a digest of the whole file, because instances have no digest."""
        return self._digest

    def predict(self, instances: List[Any]) -> Tuple[List[bytes], int]:
        """Returns an output line for each instance, and 0: none is skipped."""
        predictions = self._predictor.predict_batch_instance(instances)
        return [_encoded(self._predictor, prediction) for prediction in predictions], 0


def line_inputs(
    predictor: Predictor, path: str, skips_errors: bool, format: Optional[str], column: str
) -> LineInputs:
    """Returns the inputs of a file: texts in a format, rows with the text in a column, or lines."""
    if format:
        return TextInputs(predictor, path, skips_errors, format)
    if is_parquet(path):
        with open_parquet(path) as file:
            _check_has_column(path, column, file.schema_arrow.names)
        return RowInputs(predictor, path, skips_errors, column)
    if is_csv(path) and isinstance(predictor, BatchedPredictor) and not predictor.plain:
        return CsvInputs(predictor, path, skips_errors, column)
    return LineInputs(predictor, path, skips_errors)


def files_of(path: str) -> List[str]:
    """Returns the files of a folder or of a pattern such as `texts/*.gz`, sorted by name."""
    store, name = store_of(path)
    if store.isdir(name):
        found = store.ls(name, detail=True)
    elif re.search(r"[*?\[]", name) and not store.exists(name):
        found = store.glob(name, detail=True).values()
    else:
        return [path]
    names = [each["name"] for each in found if each["type"] == "file"]
    files = sorted(each for each in names if each.rpartition("/")[2][0] not in "._")
    if not files:
        raise ConfigurationError(f"`input_file` {path} has no files; give a folder or files")
    return [store.unstrip_protocol(each) if is_address(path) else each for each in files]
