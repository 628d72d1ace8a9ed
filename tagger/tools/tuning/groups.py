"""Groups of labelled sentences that belong together, such as documents."""

from typing import NamedTuple, Optional, Sequence

import numpy as np
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader

from tagger.data import ColumnDatasetReader
from tagger.data.splitting.documents import TEXTS


class Groups(NamedTuple):
    """The division of sentences into groups."""

    kind: str  # `"document"`, `"sentence"`, the number of a column, or a field of the metadata
    of_sentence: np.ndarray  # (S,) int64, the group of each sentence, from 0

    @property
    def number(self) -> int:
        """The number of groups."""
        return int(self.of_sentence.max()) + 1

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Sums values of sentences, (S, ...), by group, (groups, ...)."""
        sums = np.zeros((self.number, *values.shape[1:]))
        np.add.at(sums, self.of_sentence, values)
        return sums


def spell_groups(number: int, kind: str, more: str = "") -> str:
    """Formats a number of groups, or of `more` groups.

    Example:
        >>> spell_groups(223, "document", "more "), spell_groups(12, "2")
        ('223 more documents', '12 groups by `2`')
    """
    groups = f"{kind}s" if kind in ("document", "sentence") else f"groups by `{kind}`"
    return f"{number} {more}{groups}"


def groups_of_file(
    reader: DatasetReader, path: str, num_sentences: int, kind: Optional[str] = None
) -> Groups:
    """Returns the groups of a file.

    `kind` is `"document"`, `"sentence"`, the number of a column of a column file, from 0, or a field of
    the instances' metadata. The column's value at the first token of a sentence, or the field's value,
    names the group. None means documents if `ColumnDatasetReader.documents_in` finds any, or sentences.
    """
    if kind in (None, "document"):
        told = reader.documents_in(path) if isinstance(reader, ColumnDatasetReader) else None
        if told is None and kind and isinstance(reader, ColumnDatasetReader):
            told = reader.documents_in(path, TEXTS)
        if told is not None:
            return Groups("document", _checked(np.array(told.of_item), path, num_sentences))
        if kind == "document":
            raise ConfigurationError(
                f"`--unit` is document, but {path} does not mark documents; name a column or a field "
                "that does, or take sentence"
            )
    if kind in (None, "sentence"):
        return Groups("sentence", np.arange(num_sentences))
    values = _values(reader, path, kind)
    _, of_sentence = np.unique(np.array(values), return_inverse=True)
    return Groups(kind, _checked(of_sentence, path, num_sentences))


def told_groups(reader: DatasetReader, path: str, num_sentences: int) -> Groups:
    """Like `groups_of_file` without a `kind`, but returns sentences if the reader leaves some out."""
    try:
        return groups_of_file(reader, path, num_sentences)
    except ConfigurationError:
        return Groups("sentence", np.arange(num_sentences))


def _values(reader: DatasetReader, path: str, kind: str) -> Sequence[str]:
    """Returns each sentence's value of a column, or of a metadata field."""
    if isinstance(reader, ColumnDatasetReader):
        try:
            column = int(kind)
        except ValueError:
            raise ConfigurationError(
                f"`--unit` must be document, sentence or the number of a column of {path}, from 0; got "
                f"{kind!r}"
            ) from None
        first = [rows[0].columns for rows in reader.files.survey(path).sentences()]
        num_columns = len(first[0])
        if not -num_columns <= column < num_columns:
            raise ConfigurationError(
                f"`--unit` names column {column}, but {path} has {num_columns} columns, counted from 0"
            )
        return [columns[column] for columns in first]
    values = []
    for instance in reader.read(path):
        metadata = instance.fields.get("metadata")
        content = getattr(metadata, "metadata", None) or {}
        if kind not in content:
            raise ConfigurationError(
                f"`--unit` names {kind!r}, which is no field of the metadata of {path} "
                f"({', '.join(map(str, content)) or 'there is none'})"
            )
        values.append(str(content[kind]))
    return values


def _checked(of_sentence: np.ndarray, path: str, num_sentences: int) -> np.ndarray:
    if len(of_sentence) != num_sentences:
        raise ConfigurationError(
            f"`input_file` {path} has {len(of_sentence)} sentences, but the dataset reader gives "
            f"{num_sentences}; let it read all sentences whole: see `max_instances` and "
            "`max_document_tokens`"
        )
    return of_sentence
