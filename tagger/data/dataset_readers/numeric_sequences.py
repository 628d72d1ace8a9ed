"""A reader of sequences of numbers, such as the recordings of sensors."""

import copy
import csv
import itertools
import math
from os import PathLike
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple, Union

import numpy as np
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Field, Instance
from allennlp.data.fields import MetadataField

from tagger.common.csv_rows import csv_rows, delimiter_of
from tagger.common.did_you_mean import did_you_mean
from tagger.common.inputs import open_input
from tagger.common.parquet import batches, is_parquet, open_parquet
from tagger.common.ranges import check_number, check_whole
from tagger.common.training_counts import WEIGHTS
from tagger.data.dataset_readers.document_labels import parsed_labels
from tagger.data.dataset_readers.instance_weights import common_weight, weights_field
from tagger.data.dataset_readers.sharded_reader import ShardedReader
from tagger.data.fields.label_sets_field import DocumentLabelsField, LabelSetsField
from tagger.data.fields.numbers_field import NumbersField
from tagger.data.fields.tag_field import TagField
from tagger.data.text_encodings import decoded_lines
from tagger_texts.recordings import check_numbers, windows

PathType = Union[str, "PathLike[str]"]
#: The place of a row, for messages, and its cells; they are strings in CSV.
PlacedCells = Tuple[str, Sequence[Any]]
#: The unknown tag of instances.
_UNKNOWN = "?"


@DatasetReader.register("numeric_sequences")
class NumericSequencesDatasetReader(ShardedReader):
    """Reads recordings from CSV and Parquet: a row for each time step, with columns of numbers.

    The first line of CSV names the columns; `,`, `;` or a tab separates them. An empty cell is a missing
    number or an unknown label.

    An instance is a recording, or a window of a long one. It has the fields `tokens` (`NumbersField`),
    `tags` (a `TagField`, or a `LabelSetsField` for a list of label columns; absent without labels) and
    `metadata`. Where windows overlap, only one of them has the label of a step; it is unknown in the
    other, so losses and metrics count it once.

    Args:
        number_columns: The columns of numbers.
        label_columns: The column of tags; or, if a step may have several labels or none, a list of
            columns with the names of labels, which hold 1, 0, or -1 for unknown. None for no labels.
        sequence_column: The column that tells recordings apart; the rows of each are together. None if
            the file is one recording.
        unknown_tag: A string for an unknown tag, such as `-1`, besides the empty cell.
        window: The most steps of an instance.
        overlap: How many steps neighbouring windows share, at least.
        weight: The column with the weight of a recording in the loss, equal in all its rows; None for
            equal weights.
        label_namespace: The namespace of the labels in the vocabulary.
        whole_recordings: Whether labels are those of a recording as a whole, for the model
            `document_classifier`. An instance is then a recording of any length, with the field `labels`
            (`DocumentLabelsField`) in place of `tags`. Rows that give a label must give the same.
        **kwargs: The arguments of AllenNLP's `DatasetReader`, such as `max_instances`.

    Raises:
        ConfigurationError: If a number is out of range, or no column of numbers is named.

    Example:
        >>> reader = NumericSequencesDatasetReader(["x", "y"], "activity")
        >>> (instance,) = reader.recording_to_instances([[0.1, 2], [0.3, None]], [["walk"], ["?"]])
        >>> instance["tags"].labels
        ['walk', '?']
    """

    def __init__(
        self,
        number_columns: List[str],
        label_columns: Union[str, List[str], None] = None,
        sequence_column: Optional[str] = None,
        unknown_tag: str = _UNKNOWN,
        window: int = 2000,
        overlap: int = 200,
        label_namespace: str = "labels",
        weight: Optional[str] = None,
        whole_recordings: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if not number_columns:
            raise ConfigurationError("`number_columns` must name at least one column of numbers")
        check_whole("window", window)
        check_number("overlap", overlap, 0 <= overlap < window, "at least 0 and below `window`")
        self.number_columns, self.label_columns = number_columns, label_columns
        self.sequence_column, self.unknown_tag = sequence_column, unknown_tag
        self.window, self.overlap = window, overlap
        self._label_namespace, self.weight_column = label_namespace, weight
        self.whole_recordings = whole_recordings

    def without_labels(self) -> "NumericSequencesDatasetReader":
        """Returns a reader that ignores labels, so that files need none."""
        other = copy.copy(self)
        other.label_columns = other.weight_column = None
        return other

    def text_to_instance(self, *inputs: Any) -> Instance:
        """Refuses texts; `recording_to_instances` takes numbers."""
        raise ConfigurationError("this tagger reads numbers, not text; give a row for each step")

    def recording_to_instances(
        self, numbers: Any, labels: Optional[Sequence[List[str]]] = None, name: str = ""
    ) -> List[Instance]:
        """Returns an instance for each window of a recording.

        `numbers` are (T, D), NaN or None where missing; `labels` has a list for each step: its tag, or
        its labels, with `?` if all are unknown, and `?walk` if one is.
        """
        checked = check_numbers(numbers, len(self.number_columns))
        if labels is not None and len(labels) != len(checked):
            raise ValueError(
                f"expected a label list for each of {len(checked)} steps; got {len(labels)}"
            )
        if self.whole_recordings:
            return [self._whole(checked, labels, name)]
        instances = []
        for window in windows(len(checked), self.window, self.overlap):
            steps = range(window.first, window.end)
            field = NumbersField(checked[window.first : window.end])
            words = [str(step) for step in steps]
            metadata = MetadataField({"words": words, "recording": name, "window": window})
            fields: Dict[str, Field] = {"tokens": field, "metadata": metadata}
            if labels is not None:
                own = range(window.own_first, window.own_end)
                kept = [labels[step] if step in own else [_UNKNOWN] for step in steps]
                namespace = self._label_namespace, _UNKNOWN
                fields["tags"] = (
                    LabelSetsField(kept, field, *namespace)
                    if isinstance(self.label_columns, list)
                    else TagField([tag for (tag,) in kept], field, *namespace)
                )
            instances.append(Instance(fields))
        return instances

    def _whole(
        self, numbers: np.ndarray, labels: Optional[Sequence[List[str]]], name: str
    ) -> Instance:
        """Returns a recording as an instance, with the labels of its labelled steps."""
        fields: Dict[str, Field] = {
            "tokens": NumbersField(numbers),
            "metadata": MetadataField({"text": f"recording {name}".strip(), "recording": name}),
        }
        if labels is not None:
            given = [each for each in labels if each != [_UNKNOWN]] or [[_UNKNOWN]]
            for each in given:
                if each != given[0]:
                    raise ValueError(
                        f"recording {name!r}: expected the same labels in all rows that have some, as "
                        f"`whole_recordings` says; got {given[0]} and {each}"
                    )
            read = parsed_labels(given[0], _UNKNOWN)
            fields["labels"] = DocumentLabelsField(read.present, self._label_namespace, *read[1:])
        return Instance(fields)

    def _read(self, file_path: PathType) -> Iterable[Instance]:
        yield from self.shard_iterable(self._weighted_instances(file_path))

    def _weighted_instances(self, path: PathType) -> Iterator[Instance]:
        for numbers, labels, name, weight in self._recordings(path):
            for instance in self.recording_to_instances(numbers, labels, name):
                if weight is not None:
                    instance.add_field(WEIGHTS, weights_field([weight]))
                yield instance

    def _recordings(self, path: PathType) -> Iterator[Tuple[Any, Any, str, Optional[float]]]:
        """Yields the numbers, the labels, the name and the weight of each recording."""
        header, rows = read_table(path)
        columns = self.label_columns or []
        label_columns = [columns] if isinstance(columns, str) else columns
        others = [self.sequence_column or header[0], self.weight_column or header[0]]
        for name in [*self.number_columns, *label_columns, *others]:
            if name not in header:
                raise ConfigurationError(
                    f"{path} has no column `{name}` ({', '.join(header)}){did_you_mean(name, header)}"
                )
        at = header.index(self.sequence_column) if self.sequence_column else None
        seen = set()
        for name, group in itertools.groupby(rows, lambda row: "" if at is None else row[1][at]):
            own = [(place, dict(zip(header, cells))) for place, cells in group]
            if name in seen:
                raise ValueError(
                    f"{own[0][0]}: recording {name!r} has ended before; sort the rows by "
                    f"`{self.sequence_column}`"
                )
            seen.add(name)
            numbers = [
                [_number(cells, column, place) for column in self.number_columns]
                for place, cells in own
            ]
            labels = [self._labels(cells, label_columns, place) for place, cells in own]
            weights = [(cells.get(self.weight_column or ""), place) for place, cells in own]
            weight = None if self.weight_column is None else common_weight(weights)
            yield numbers, labels if label_columns else None, str(name), weight

    def _labels(self, cells: Dict[str, Any], columns: Sequence[str], place: str) -> List[str]:
        unknown = [
            each for each in columns if cells[each] in (None, "", self.unknown_tag, "-1", -1)
        ]
        if isinstance(self.label_columns, str):
            tag = cells[self.label_columns]
            return [_UNKNOWN if tag in (None, "", self.unknown_tag) else str(tag)]
        if unknown == columns:
            return [_UNKNOWN]
        known = {each: _number(cells, each, place) for each in columns if each not in unknown}
        for column, number in known.items():
            if number not in (0, 1):
                raise ValueError(
                    f"{place}: expected 1, 0, or -1 for unknown in column `{column}`, got {number:g}; "
                    f"if it holds tags, name it alone: `label_columns: '{column}'`"
                )
        return [*(_UNKNOWN + each for each in unknown), *(each for each in known if known[each])]


def read_table(path: PathType) -> Tuple[List[str], Iterator[PlacedCells]]:
    """Returns the names of a table's columns, and its rows."""
    if is_parquet(path):
        with open_parquet(path) as file:
            return list(file.schema_arrow.names), _rows_of_parquet(path)
    with open_input(path) as lines:
        opening = [line for _, line in itertools.islice(decoded_lines(lines, path), 2)]
    delimiter = delimiter_of("".join(opening[:1]))
    header, *second = [*csv.reader(opening, delimiter=delimiter)] or [[""]]
    header = [name.strip() for name in header]
    if second and len(second[0]) == len(header) + 1:  # as R writes the names of rows
        header = ["", *header]
    return header, _rows_of_csv(path, delimiter, len(header))


def _rows_of_parquet(path: PathType) -> Iterator[PlacedCells]:
    with open_parquet(path) as file:
        rows = (zip(*(each.to_pylist() for each in batch.columns)) for batch in batches(file))
        for number, cells in enumerate(itertools.chain.from_iterable(rows), 1):
            yield f"{path}, row {number}", cells


def _rows_of_csv(path: PathType, delimiter: str, num_columns: int) -> Iterator[PlacedCells]:
    with open_input(path) as lines:
        rows = csv_rows(decoded_lines(lines, path), delimiter, path)
        for read, cells in itertools.islice(rows, 1, None):
            place = f"{path}:{read[-1][0]}"
            if len(cells) not in (0, num_columns):
                raise ValueError(
                    f"{place}: expected {num_columns} cells as on the first line, got "
                    f"{len(cells)}: {delimiter.join(cells):.200}"
                )
            if cells:
                yield place, [cell.strip() for cell in cells]


def _number(cells: Dict[str, Any], column: str, place: str) -> float:
    cell = cells[column]
    try:
        number = math.nan if cell in (None, "") else float(cell)
    except (TypeError, ValueError):
        number = math.inf
    if math.isinf(number):
        raise ValueError(
            f"{place}: expected a number in column `{column}`, or nothing if it is missing; got {cell!r}"
        )
    return number
