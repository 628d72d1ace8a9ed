"""The inputs of `predict-file`: lines, rows of a table, or instances from a dataset reader."""

import argparse
import hashlib
import itertools
import json
import re
from pathlib import Path
from typing import (
    Any,
    Iterable,
    Iterator,
    List,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
)

from allennlp.common.checks import ConfigurationError
from allennlp.common.file_utils import cached_path
from allennlp.common.util import JsonDict
from allennlp.data import Instance
from allennlp.predictors import Predictor

from tagger.commands.line_inputs import NUM_LINES, Line, LineInputs, encoded
from tagger.common.csv_rows import are_quoted, csv_rows, delimiter_of
from tagger.common.did_you_mean import did_you_mean
from tagger.common.files import check_is_file
from tagger.common.inputs import (
    is_address,
    open_input,
    open_stored,
    stored_size,
)
from tagger.common.outputs import store_of
from tagger.common.parquet import batches, is_parquet, open_parquet
from tagger.data.formats import (
    PLAIN_TAGS,
    holds_tags,
    is_csv,
    read_texts,
    recognise,
    recognise_texts,
)
from tagger.data.reading import Reading
from tagger.data.text_encodings import decoded_lines
from tagger.predictors.batched_predictor import BatchedPredictor
from tagger_compat.archive_guard import shortened

#: The most characters of a column's name to show.
_LONGEST_NAME = 40


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
            for batch in batches(file, *dict.fromkeys([self._column, *self.keep])):
                for row in batch.to_pylist():
                    number += 1
                    value = json.dumps(row[self._column], ensure_ascii=False)
                    yield Line(number, value, self.path, self._kept_of(row))
                # Columns and row groups may be anywhere in the file, so scale by the rows read.
                self.num_bytes_read = (self.num_bytes or 0) * number // file.metadata.num_rows

    def names(self) -> Iterable[str]:
        with open_parquet(self.path) as file:
            return [name for name in file.schema_arrow.names if name != self._column]

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
        remedy = "; name that of the texts, or add --plain if each line is a text"
        _check_has_column(path, column, _Table.of(path).names, remedy)

    def __iter__(self) -> Iterator[Line]:
        lines = (
            (each.number, each.text.removeprefix("\ufeff") if each.number == 1 else each.text)
            for each in super(RowInputs, self).__iter__()
        )
        names, delimiter, is_quoted = _Table.of(self.path)
        _check_has_column(self.path, self._column, names)
        self.others = [name for name in names if name != self._column]
        rows = filter(None, (row for _, row in csv_rows(lines, delimiter, self.path, is_quoted)))
        column = names.index(self._column)
        for number, row in enumerate(itertools.islice(rows, 1, None), 1):
            if len(row) != len(names):
                raise ConfigurationError(
                    f"{self.path}, row {number}: expected {len(names)} columns as in the header, got "
                    f"{len(row)}; correct the row"
                )
            kept = self._kept_of(dict(zip(names, row)))
            yield Line(number, json.dumps(row[column], ensure_ascii=False), self.path, kept)

    def names(self) -> Iterable[str]:
        return [name for name in _Table.of(self.path).names if name != self._column]


class _Table(NamedTuple):
    """The names of a table's columns, what separates them, and whether cells may be quoted."""

    names: List[str]
    delimiter: str
    is_quoted: bool

    @classmethod
    def of(cls, path: str) -> "_Table":
        with open_input(path) as lines:
            first = [line for _, line in itertools.islice(decoded_lines(lines, path), NUM_LINES)]
        delimiter = delimiter_of(first[0] if first else "")
        is_quoted = are_quoted(first, delimiter)
        rows = (row for _, row in csv_rows(enumerate(first, 1), delimiter, path, is_quoted))
        return cls(next(filter(None, rows), [""]), delimiter, is_quoted)


def _check_has_column(path: str, column: str, names: Sequence[str], remedy: str = "") -> None:
    """Rejects Parquet and CSV without the input column."""
    if column not in names:
        shown = ", ".join(shortened(name, _LONGEST_NAME) for name in names)
        raise ConfigurationError(
            f"`--text-column` {column} is no column of {path} ({shown})"
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
            # Readers leave out the empty cells of a table.
            empty = dict.fromkeys(self.keep, "") if self._format == "csv" else {}
            yield Line(number, text.text, self.path, self._kept_of({**empty, **text.properties}))

    def names(self) -> Iterable[str]:
        for _ in itertools.islice(self, NUM_LINES):
            pass
        return self.others

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
        return [encoded(self._predictor, prediction) for prediction in predictions], 0


def format_of_input(args: argparse.Namespace, first_file: str) -> Optional[str]:
    """Returns the format of an input that has annotations; None for lines and for Parquet.

    A missing input, or one that is not a file, is rejected before the model is loaded.
    """
    path = args.input_file
    if Path(path).is_dir() and (args.input_format or recognise(path)) == "brat":
        return "brat"
    path = first_file
    if is_address(path):
        with open_stored(path):
            pass
    else:
        check_is_file(cached_path(path), path)
    if args.input_format or args.plain or args.use_dataset_reader or is_parquet(path):
        return args.input_format
    has_rows = is_csv(path) and not holds_tags(path) and recognise(path, labelled=False) is None
    if has_rows or (is_csv(path) and args.text_column != "text"):
        return None  # its rows are read by the column of texts
    return recognise_texts(path)


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
