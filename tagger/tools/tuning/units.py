"""Units of labelled data: what is drawn independently, such as documents."""

from typing import NamedTuple, Optional, Sequence

import numpy as np
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader

from tagger.data import ColumnDatasetReader
from tagger.data.splitting.documents import TEXTS


class Units(NamedTuple):
    """How sentences fall into units.

    Attributes:
        unit: `"document"`, `"sentence"`, the number of a column, or a field of the metadata.
        of_sentence: (S,) int64, the unit of each sentence, from 0 on.
    """

    unit: str
    of_sentence: np.ndarray

    @property
    def num_units(self) -> int:
        """How many units there are."""
        return int(self.of_sentence.max()) + 1


def spell_units(number: int, unit: str, more: str = "") -> str:
    """Says how many units there are, or how many `more`.

    Example:
        >>> spell_units(223, "document", "more "), spell_units(12, "2")
        ('223 more documents', '12 groups by `2`')
    """
    units = f"{unit}s" if unit in ("document", "sentence") else f"groups by `{unit}`"
    return f"{number} {more}{units}"


def units_of_file(
    reader: DatasetReader, path: str, num_sentences: int, unit: Optional[str] = None
) -> Units:
    """Returns the units of a file.

    Args:
        reader: The reader of the sentences.
        path: The file.
        num_sentences: How many the reader found.
        unit: `"document"`, `"sentence"`, the number of a column of a column file, from 0, whose value
            at the first token of a sentence names the unit, or the field of the instances' metadata that
            does. None for documents where the file tells them, as `ColumnDatasetReader.documents_in`
            finds, else for sentences.

    Raises:
        ConfigurationError: If the file has no such unit, or if the reader left sentences out.
    """
    if unit == "sentence":
        return Units("sentence", np.arange(num_sentences))
    if unit in (None, "document"):
        told = reader.documents_in(path) if isinstance(reader, ColumnDatasetReader) else None
        if told is None and unit and isinstance(reader, ColumnDatasetReader):
            told = reader.documents_in(path, TEXTS)
        if told is not None:
            return Units("document", _checked(np.array(told.of_item), path, num_sentences))
        if unit is None:
            return Units("sentence", np.arange(num_sentences))
        raise ConfigurationError(
            f"`--unit` is document, but {path} does not mark documents; name a column or a field that "
            "does, or take sentence"
        )
    values = _values(reader, path, unit)
    _, of_sentence = np.unique(np.array(values), return_inverse=True)
    return Units(unit, _checked(of_sentence, path, num_sentences))


def told_units(reader: DatasetReader, path: str, num_sentences: int) -> Units:
    """As `units_of_file` without a `unit`, but sentences where the reader leaves some of them out."""
    try:
        return units_of_file(reader, path, num_sentences)
    except ConfigurationError:
        return Units("sentence", np.arange(num_sentences))


def _values(reader: DatasetReader, path: str, unit: str) -> Sequence[str]:
    if isinstance(reader, ColumnDatasetReader):
        try:
            column = int(unit)
        except ValueError:
            raise ConfigurationError(
                f"`--unit` must be document, sentence or the number of a column of {path}, from 0; got "
                f"{unit!r}"
            ) from None
        return _column(reader, path, column)
    values = []
    for instance in reader.read(path):
        metadata = instance.fields.get("metadata")
        content = getattr(metadata, "metadata", None) or {}
        if unit not in content:
            raise ConfigurationError(
                f"`--unit` names {unit!r}, which is no field of the metadata of {path} "
                f"({', '.join(map(str, content)) or 'there is none'})"
            )
        values.append(str(content[unit]))
    return values


def _column(reader: ColumnDatasetReader, path: str, column: int) -> Sequence[str]:
    """Returns what stands in a column of the first token of each sentence."""
    first = [rows[0] for rows in reader.columns.survey(path).sentences()]
    num_columns = len(first[0].columns)
    if not -num_columns <= column < num_columns:
        raise ConfigurationError(
            f"`--unit` names column {column}, but {path} has {num_columns} columns, counted from 0"
        )
    return [row.columns[column] for row in first]


def _checked(of_sentence: np.ndarray, path: str, num_sentences: int) -> np.ndarray:
    if len(of_sentence) != num_sentences:
        raise ConfigurationError(
            f"`input_file` {path} has {len(of_sentence)} sentences, but the dataset reader gives "
            f"{num_sentences}; let it read all sentences whole: see `max_instances` and "
            "`max_document_tokens`"
        )
    return of_sentence
