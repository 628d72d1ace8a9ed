"""A reader of column files, such as those of CoNLL-2003."""

import logging
from os import PathLike
from pathlib import Path
from typing import Any, Dict, Iterable, Optional, Sequence, Union

from allennlp.common.checks import ConfigurationError
from allennlp.common.file_utils import cached_path
from allennlp.data import DatasetReader, Field, Instance, Token, TokenIndexer
from allennlp.data.fields import MetadataField, TextField
from allennlp.data.token_indexers import SingleIdTokenIndexer

from tagger.data.column_file import Row, read_sentences
from tagger.data.dataset_readers.extra_arguments import check_extra_arguments
from tagger.data.fields import LabelSetsField, TagField, TagSetsField
from tagger.spans import (
    ENCODINGS,
    IllegalTagError,
    check_tags,
    convert_tags,
    possible_tags,
)

logger = logging.getLogger(__name__)

# The commands that prepare corpora which are not part of this project, by the name of their folder.
_PREPARED_BY = {
    "conll2003": "python scripts/prepare_conll2003.py SOURCE",
    "us_addresses": "python scripts/prepare_us_addresses.py",
}


@DatasetReader.register("column")
class ColumnDatasetReader(DatasetReader):
    """Reads sentences from files that hold a token and its tag on each line.

    Blanks or tabs separate columns, lines of white space separate sentences, and `-DOCSTART-` lines are
    skipped. So it reads CoNLL-2003 as distributed (`source_encoding` IOB1), WNUT-17, and two-column
    files.

    An instance has the fields `tokens` (`TextField`), `tags` (absent without a tag column) and
    `metadata` (`{"words": [...]}`). `tags` is a `TagField`, a `TagSetsField` if encoded tags may be
    unknown, or a `LabelSetsField` if there is a `label_separator`.

    Args:
        token_column: The column of the tokens, from 0; negative ones count from the end.
        tag_column: The column of the tags; None reads text without tags, as for prediction:
            `allennlp predict --use-dataset-reader -o '{"dataset_reader.tag_column": null}' ...`.
        source_encoding: The encoding of the tags in the file: "BIO", "IOB1", "BIOUL", "BMES" or
            "IOBES", or None for plain labels that mark no spans. Each sentence is checked against it.
            IOB1 allows `B-` anywhere, so it reads BIO and mixtures of the two as well, and finds the
            spans that conlleval finds.
        tag_encoding: The encoding of the tags in the instances. None keeps that of the file, except that
            IOB1 becomes BIO: a vocabulary of IOB1 tags looks like one of BIO.
        unknown_tag: The string that stands for an unknown tag in the file; None if there is none.
            Each token then has the set of tags that remain possible, see `possible_tags`. Before one of
            several labels the string says that this label is unknown: `A|?B`.
        token_indexers: How tokens are indexed; None for a single id of namespace `tokens`.
        label_namespace: The namespace of the tags in the vocabulary.
        delimiter: The string between two columns; None for any run of blanks and tabs. Use a tab if
            tokens hold blanks.
        label_separator: The string between two labels of a token, `A|B`, if tokens may have several
            labels or none; None if each token has one tag. Labels are plain, so `source_encoding` is
            ignored.
        no_label_tag: With a `label_separator`, the string that stands for no label at all.
        **kwargs: The arguments of AllenNLP's `DatasetReader`, such as `max_instances`.

    Raises:
        ConfigurationError: If an encoding or an argument is unknown, or if plain labels are to be
            converted.

    Example:
        >>> reader = ColumnDatasetReader(source_encoding="IOB1", tag_encoding="BIO")
        >>> instance = reader.text_to_instance(["Ada", "Lovelace", "left"], ["I-PER", "I-PER", "O"])
        >>> instance["tags"].labels
        ['B-PER', 'I-PER', 'O']
    """

    def __init__(
        self,
        token_column: int = 0,
        tag_column: Optional[int] = -1,
        source_encoding: Optional[str] = "BIO",
        tag_encoding: Optional[str] = None,
        unknown_tag: Optional[str] = None,
        token_indexers: Optional[Dict[str, TokenIndexer]] = None,
        label_namespace: str = "labels",
        delimiter: Optional[str] = None,
        label_separator: Optional[str] = None,
        no_label_tag: str = "O",
        **kwargs: Any,
    ) -> None:
        check_extra_arguments(ColumnDatasetReader, kwargs)
        super().__init__(
            manual_distributed_sharding=True, manual_multiprocess_sharding=True, **kwargs
        )
        encodings = {"source_encoding": source_encoding, "tag_encoding": tag_encoding}
        for name, encoding in encodings.items():
            if encoding not in (None, *ENCODINGS):
                raise ConfigurationError(
                    f"`{name}` is {encoding!r}, expected one of {', '.join(ENCODINGS)}, or null"
                )
        if label_separator is not None:
            source_encoding = None
        if tag_encoding and not source_encoding:
            raise ConfigurationError(
                f"`tag_encoding` is {tag_encoding!r}, but `source_encoding` is null, or there is a "
                "`label_separator`, and plain labels mark no spans to convert; leave `tag_encoding` out"
            )
        self._token_column = token_column
        self._tag_column = tag_column
        self._source_encoding = source_encoding
        default = "BIO" if source_encoding == "IOB1" else source_encoding
        self._tag_encoding = tag_encoding or default
        self._unknown_tag = unknown_tag
        self._token_indexers = token_indexers or {"tokens": SingleIdTokenIndexer()}
        self._label_namespace = label_namespace
        self._delimiter = delimiter
        self._label_separator = label_separator
        self._no_label_tag = no_label_tag

    def text_to_instance(
        self, tokens: Sequence[Union[str, Token]], tags: Optional[Sequence[str]] = None
    ) -> Instance:
        """Makes an instance of a sentence.

        Args:
            tokens: The tokens. A `Token` keeps its character offsets.
            tags: Their tags as in a file; None if they are unavailable.

        Raises:
            IllegalTagError: If the tags are not a legal sequence of `source_encoding`, or if one of
                several labels is empty or both known and unknown. It is a `ValueError`.
        """
        text = TextField([Token(token) if isinstance(token, str) else token for token in tokens])
        fields: Dict[str, Field] = {
            "tokens": text,
            "metadata": MetadataField({"words": [token.text for token in text]}),
        }
        if tags is not None:
            fields["tags"] = self._tag_field(tags, text)
        return Instance(fields)

    def apply_token_indexers(self, instance: Instance) -> None:
        """Sets the indexers late, because instances without them move faster between processes."""
        instance["tokens"].token_indexers = self._token_indexers  # type: ignore[attr-defined]

    def _read(self, file_path: Union[str, PathLike]) -> Iterable[Instance]:
        num_known, num_certain = 0, 0
        with open(_find(file_path), "rb") as lines:
            for sentence in self.shard_iterable(read_sentences(lines, file_path, self._delimiter)):
                instance = self._sentence_to_instance(sentence, file_path)
                field = instance.fields.get("tags")
                if isinstance(field, TagSetsField) and self._tag_column is not None:
                    num_known += sum(
                        row.columns[self._tag_column] != self._unknown_tag for row in sentence
                    )
                    num_certain += len(field.known_tags())
                yield instance
        if num_known:
            logger.info(
                "%s: %d known tags, %d of them certain as %s; the others are sets of possible tags",
                file_path,
                num_known,
                num_certain,
                self._tag_encoding,
            )

    def _sentence_to_instance(
        self, sentence: Sequence[Row], file_path: Union[str, PathLike]
    ) -> Instance:
        self._check_columns(sentence[0], file_path)
        tokens = [row.columns[self._token_column] for row in sentence]
        if self._tag_column is None:
            return self.text_to_instance(tokens)
        try:
            return self.text_to_instance(
                tokens, [row.columns[self._tag_column] for row in sentence]
            )
        except IllegalTagError as error:
            row = sentence[error.position]
            raise ValueError(f"{file_path}:{row.number}: in {row.text!r}, {error}") from None

    def _check_columns(self, row: Row, file_path: Union[str, PathLike]) -> None:
        num_columns = len(row.columns)
        wanted = [index for index in (self._token_column, self._tag_column) if index is not None]
        # An index beyond the line would wrap around to another column.
        found = {index % num_columns for index in wanted if -num_columns <= index < num_columns}
        if len(found) < len(wanted):
            raise ValueError(
                f"{file_path}:{row.number}: expected tokens in column {self._token_column} and tags in "
                f"column {self._tag_column}, got {row.columns}; correct `token_column` and "
                "`tag_column`, or set `tag_column` to null if there are no tags"
            )

    def _tag_field(self, tags: Sequence[str], text: TextField) -> Field:
        if self._label_separator is not None:
            return self._label_sets_field(tags, text)
        namespace, unknown_tag = self._label_namespace, self._unknown_tag
        if self._source_encoding is None or self._tag_encoding is None:
            return TagField(list(tags), text, namespace, unknown_tag)
        encodings = self._source_encoding, self._tag_encoding
        if unknown_tag is not None:
            return TagSetsField(
                possible_tags(tags, *encodings, unknown_tag), text, namespace, unknown_tag
            )
        check_tags(tags, self._source_encoding)
        return TagField(convert_tags(tags, *encodings), text, namespace)

    def _label_sets_field(self, tags: Sequence[str], text: TextField) -> Field:
        label_sets = [
            [] if tag == self._no_label_tag else tag.split(self._label_separator) for tag in tags
        ]
        for position, labels in enumerate(label_sets):
            if self._no_label_tag in labels:
                raise IllegalTagError(
                    f"`{tags[position]}` at position {position} has `{self._no_label_tag}`, which "
                    f"stands for no label, beside labels; leave it out, or set `no_label_tag`",
                    position,
                )
        return LabelSetsField(label_sets, text, self._label_namespace, self._unknown_tag)


def _find(file_path: Union[str, PathLike]) -> str:
    try:
        found = cached_path(file_path)
        if Path(found).is_dir():
            raise IsADirectoryError(
                f"{file_path}: expected a file, got a folder; name a file in it"
            )
        return found
    except FileNotFoundError:
        command = _PREPARED_BY.get(Path(file_path).parent.name)
        remedy = f"`{command}` puts it there" if command else "correct the path"
        raise FileNotFoundError(
            f"{file_path}: expected a file, got none (the current folder is {Path.cwd()}); {remedy}"
        ) from None
