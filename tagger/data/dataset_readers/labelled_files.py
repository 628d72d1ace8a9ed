"""Reads files with gold tags, in any format, as documents of sentences."""

import logging
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Callable, Iterator, List, Mapping, NamedTuple, Optional, Sequence

from allennlp.data import Token, Tokenizer

from tagger.common.inputs import PathOrAddress, is_address
from tagger.data.column_file import Row
from tagger.data.dataset_readers.instance_weights import common_weight, parsed_weight
from tagger.data.dataset_readers.tag_spelling import TagSpelling
from tagger.data.formats import (
    PLAIN_TAGS,
    READ_FORMATS,
    AnnotatedText,
    Annotation,
    TextCounts,
    read_texts,
)
from tagger.data.joined_text import join_tokens
from tagger.data.splitting.documents import Documents, documents_of_rows, documents_of_texts
from tagger.data.survey.column_survey import AUTO, MOST_LINES, ColumnSurvey, Known, survey_columns
from tagger.data.survey.columns import Column
from tagger.data.survey.schemes import Scheme, spans_in
from tagger.data.text_splitter import TextSplitter
from tagger_texts.inputs import check_text
from tagger_texts.merging import SEPARATOR
from tagger_texts.sentences import MOST_TOKENS, sentence_lengths
from tagger_texts.text import Text

logger = logging.getLogger(__name__)

# The commands that prepare corpora that this project does not include, by folder name.
_PREPARED_BY = {
    "conll2003": "python scripts/experiments/prepare_conll2003.py SOURCE",
    "us_addresses": "python scripts/experiments/prepare_us_addresses.py",
}
# The number of lines to examine if the meaning of the tags is known.
_FEW_LINES = 1_000


@dataclass
class LabelledSentence:
    """A sentence of a file. Its tokens have offsets in its `text`, if any, which is part of `source`.

    `place_of` turns a token's index into its place, for messages.
    """

    tokens: List[Token]
    tags: Optional[List[str]]
    spelling: TagSpelling
    place_of: Callable[[int], str]
    text: Optional[str] = None
    source: Optional[AnnotatedText] = None
    weight: float = 1.0

    def __len__(self) -> int:
        return len(self.tokens)


class ColumnFiles(NamedTuple):
    """Reads column files. The arguments are those of the reader `column`."""

    spelling: TagSpelling
    token_column: Column
    tag_column: Optional[Column]
    delimiter: Optional[str]
    text_encoding: Optional[str]
    more_tags: Sequence[Column] = ()
    overlapping: str = "refuse"
    weight_column: Optional[Column] = None

    @property
    def is_default(self) -> bool:
        """Whether no columns were specified, so that files may have other formats."""
        is_default = self.tag_column in (None, -1) or isinstance(self.tag_column, str)
        is_default = is_default and not self.more_tags and not isinstance(self.weight_column, int)
        return self.token_column == 0 and is_default and self.delimiter is None

    def survey(self, path: PathOrAddress) -> ColumnSurvey:
        """Detects a file's layout, and logs it."""
        encoding = self.spelling.source_encoding
        # By default, plain labels are in the last column.
        tag_column = None if self.tag_column == -1 and encoding is not None else self.tag_column
        known = Known(
            text_encoding=self.text_encoding,
            delimiter=self.delimiter,
            token_column=self.token_column or None,
            tag_column=tag_column,
            source_encoding=encoding,
            labelled=self.tag_column is not None,
        )
        found = survey_columns(path, known, MOST_LINES if encoding == AUTO else _FEW_LINES)
        separator = found.scheme.label_separator
        if separator is not None and found.scheme.source_encoding is None and encoding == AUTO:
            raise ValueError(
                f"{path}: tags join several labels by {separator!r}; set `label_separator`, and "
                "`no_label_tag` where it is not 'O'"
            )
        if separator not in (None, self.spelling.label_separator):
            raise ValueError(
                f"{path}: entities overlap, tags joined by {separator!r}; set `label_chains: true` "
                f"{'' if separator == SEPARATOR else f'and `label_separator: {separator!r}` '}of the "
                "dataset reader, and take the head `label_chains`; or keep one tag for each token"
            )
        level = logging.WARNING if found.spans and tag_column is None else logging.INFO
        logger.log(level, "%s: %s", path, "; ".join(map(" ".join, found.describe())))
        return found

    def documents(
        self, path: PathOrAddress, borders: Optional[str]
    ) -> Iterator[List[LabelledSentence]]:
        """Yields documents like `read_documents`; without `borders`, each sentence by itself."""
        found = self.survey(path)
        spelling = self.spelling.found(found.scheme.source_encoding, found.scheme.unknown_tag)
        token, tag = found.layout.token, found.layout.tag
        columns = [] if tag is None else [tag, *(found.column(each) for each in self.more_tags)]
        weight = None if self.weight_column is None or tag is None else self.weight_column
        weigh = partial(_weight_of_rows, None if weight is None else found.column(weight), path)
        counts = TextCounts()
        sentences = ([rows] for rows in found.sentences())
        for document in sentences if borders is None else found.documents(borders):
            yield [
                LabelledSentence(
                    tokens=[Token(row.columns[token]) for row in rows],
                    tags=self._tags(rows, token, columns, found.scheme, path, counts),
                    spelling=spelling,
                    place_of=partial(_place_in_rows, rows, path),
                    weight=weigh(rows),
                )
                for rows in document
            ]
        if self.more_tags:
            logger.info("%s: %s", path, counts.in_one_line())

    def _tags(
        self,
        rows: Sequence[Row],
        token: int,
        columns: Sequence[int],
        scheme: Scheme,
        path: PathOrAddress,
        counts: TextCounts,
    ) -> Optional[List[str]]:
        """Returns the tags of a sentence; those of several columns are joined."""
        if len(columns) < 2:
            return [row.columns[column] for column in columns for row in rows] or None
        text, places = join_tokens([row.columns[token] for row in rows])
        spans = [
            span
            for column in columns
            for span in spans_in([scheme.canonical(row.columns[column]) for row in rows], scheme)
        ]
        # An entity in several columns counts once.
        entities = [
            Annotation(label, places[i][0], places[j][1]) for label, (i, j) in dict.fromkeys(spans)
        ]
        place = f"{path}:{rows[0].number}"
        whole = AnnotatedText(text, entities, places, [len(rows)], place, {})
        kept = counts.without_overlaps(whole, self.overlapping, by_label=True)
        return self.spelling.found(scheme.source_encoding).of_text(counts.add(kept))

    def documents_in(
        self, path: PathOrAddress, borders: Optional[str], how: Optional[str]
    ) -> Optional[Documents]:
        """Returns the documents marked as `how` says, or else by `borders`, or else in any way."""
        found = self.survey(path)
        sentences, gaps, _ = found.sentences_and_gaps()
        used = [each for each in (found.layout.token, found.layout.tag) if each is not None]
        ways = (how or borders, how)
        told = (
            documents_of_rows(sentences, gaps, str(path), used, way, found.header) for way in ways
        )
        return next((each for each in told if each is not None), None)


def _weight_of_rows(column: Optional[int], path: PathOrAddress, rows: Sequence[Row]) -> float:
    """Returns the weight of a sentence, which all its rows must have."""
    if column is None:
        return 1.0
    return common_weight([(row.columns[column], f"{path}:{row.number}") for row in rows])


def _place_in_rows(rows: Sequence[Row], path: PathOrAddress, position: int) -> str:
    row = rows[position]
    return f"{path}:{row.number}: in {row.quoted}"


@dataclass(frozen=True)
class TextFiles:
    """Reads files of texts with entities, in the formats of `tagger.data.formats`.

    `most_tokens` is the reader's `max_sentence_tokens`, and `options` are those of `read_texts` that are
    not None. With `are_documents`, texts without marked sentences are split into sentences.
    """

    spelling: TagSpelling
    tokenizer: Tokenizer
    language: str
    most_tokens: Optional[int]
    overlapping: str
    options: Mapping[str, Any]
    has_tags: bool
    are_documents: bool
    weight_key: Optional[str] = None

    def without_tags(self) -> "TextFiles":
        """Returns a copy that does not read entities."""
        return replace(self, has_tags=False)

    def documents(self, path: PathOrAddress, format: str) -> Iterator[List[LabelledSentence]]:
        """Yields the sentences of each text; texts without tokens are skipped and counted."""
        counts = TextCounts()
        num_empty = 0
        given = {**self.options, "labelled": self.has_tags}
        options = {
            key: given[key] for key in READ_FORMATS[format].options if given.get(key) is not None
        }
        for text in read_texts(path, format, **options):
            sentences = self._sentences(counts.add(self._fitted(text, counts)), text)
            num_empty += not sentences
            if sentences:
                yield sentences
        logger.info("%s, read as %s: %s", path, format, counts.in_one_line())
        if num_empty:
            logger.warning("%s: left out %d texts without a token", path, num_empty)
        if counts.cut:
            logger.warning(
                "%s: %s tokens were cut, since entities begin or end inside them, such as %s; the "
                "tagger will not cut them in other texts. Use a `tokenizer` that splits there, which "
                "`allennlp start` looks for, to find such entities",
                *(path, counts.cut, counts.cut.listed()),
            )

    def documents_in(
        self, path: PathOrAddress, format: str, how: Optional[str]
    ) -> Optional[Documents]:
        """Returns the document of each sentence, see `documents_of_texts`."""
        read = list(self.documents(path, format))
        texts = [sentences[0].source for sentences in read if sentences[0].source is not None]
        told = documents_of_texts(texts, str(path), format, how)
        if told is None:
            return None
        numbers = zip(told.of_item, read)
        return told._replace(of_item=[number for number, sentences in numbers for _ in sentences])

    @cached_property
    def _splitter(self) -> TextSplitter:
        # Created for the first text, because loading rules takes a second.
        return TextSplitter(self.tokenizer, self.language, max_sentence_tokens=self.most_tokens)

    def _fitted(self, text: AnnotatedText, counts: TextCounts) -> AnnotatedText:
        if not self.has_tags:
            text = text._replace(entities=[])
        elif self.spelling.label_chains:
            text = counts.without_overlaps(text, self.overlapping, by_label=True)
        elif self.overlapping != "refuse" or self.spelling.label_separator is None:
            text = counts.without_overlaps(text, self.overlapping)
        return counts.fitted(with_tokens(text, self._split, self.most_tokens))

    def _split(self, text: AnnotatedText) -> Text:
        check_text(text.text, text.place, self._splitter.run_characters)
        split = self._splitter.document if self.are_documents else self._splitter.sentence
        return split(text.text)

    def _sentences(self, fitted: AnnotatedText, text: AnnotatedText) -> List[LabelledSentence]:
        spans = fitted.tokens or []
        tags = self.spelling.of_text(fitted) if self.has_tags else None
        spelling = self.spelling.found(None if fitted.properties.get(PLAIN_TAGS) else "BIO")
        sentences, first = [], 0
        weight = 1.0
        if self.weight_key is not None:
            weight = parsed_weight(text.properties.get(self.weight_key), text.place)
        for length in filter(None, fitted.sentence_lengths or [len(spans)]):
            own = spans[first : first + length]
            begin, end = own[0][0], own[-1][1]
            if length == len(spans):
                begin, end = 0, len(fitted.text)
            tokens = [
                Token(fitted.text[start:stop], idx=start - begin, idx_end=stop - begin)
                for start, stop in own
            ]
            sentences.append(
                LabelledSentence(
                    tokens=tokens,
                    tags=None if tags is None else tags[first : first + length],
                    spelling=spelling,
                    place_of=partial(_place_in_text, fitted.place, own),
                    text=fitted.text[begin:end],
                    source=text,
                    weight=weight,
                )
            )
            first += length
        return sentences


def with_tokens(
    text: AnnotatedText,
    split: Callable[[AnnotatedText], Text],
    most_tokens: Optional[int] = MOST_TOKENS,
) -> AnnotatedText:
    """Returns a text with tokens and sentences; a text without tokens is split."""
    if text.tokens is None:
        found = split(text)
        return text._replace(tokens=found.word_spans(), sentence_lengths=found.sentence_lengths)
    starts = [start for start, _ in text.tokens]
    lengths = text.sentence_lengths or sentence_lengths(text.text, starts, most_tokens)
    return text._replace(sentence_lengths=lengths)


def _place_in_text(place: str, spans: Sequence[tuple[int, int]], position: int) -> str:
    return f"{place}: at character {spans[position][0]}"


def check_is_there(path: PathOrAddress) -> None:
    """Raises an error if a file is missing, with the command that creates it, if known."""
    if not (is_address(path) or Path(path).exists()):
        command = _PREPARED_BY.get(Path(path).parent.name)
        remedy = f"`{command}` puts it there" if command else "correct the path"
        raise FileNotFoundError(
            f"{path}: expected a file, got none (the current folder is {Path.cwd()}); {remedy}"
        )
