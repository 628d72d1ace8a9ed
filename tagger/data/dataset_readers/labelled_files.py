"""Reads files with gold tags, in any format, as documents of sentences."""

import logging
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Callable, Iterator, List, Optional, Sequence

from allennlp.data import Token, Tokenizer

from tagger.common.inputs import PathOrAddress, bare_suffix, is_address
from tagger.data.column_file import Row
from tagger.data.dataset_readers.instance_weights import WeightsOfTexts, common_weight
from tagger.data.dataset_readers.tag_spelling import tags_of_text
from tagger.data.formats import (
    PLAIN_TAGS,
    READ_FORMATS,
    AnnotatedText,
    Annotation,
    TextCounts,
    format_of,
    recognise,
)
from tagger.data.joined_text import join_tokens
from tagger.data.reading import AUTO, Reading
from tagger.data.splitting.documents import Documents, documents_of_columns, documents_of_texts
from tagger.data.survey.column_survey import MOST_LINES, ColumnSurvey, survey_columns
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
    reading: Reading
    place_of: Callable[[int], str]
    text: Optional[str] = None
    source: Optional[AnnotatedText] = None
    weight: float = 1.0

    def __len__(self) -> int:
        return len(self.tokens)


@dataclass(frozen=True)
class LabelledFiles:
    """Reads files in all formats, as a checked `reading` says; texts are split by the `tokenizer`."""

    reading: Reading
    tokenizer: Tokenizer

    def format_of(self, path: PathOrAddress) -> str:
        """Returns the name of a file's format; raises an error if the file is missing."""
        check_is_there(path)
        if self.reading.format is not None:
            return self.reading.format
        if not self.reading.implies_columns:
            return format_of(path, self.reading.labelled)
        # A list may have texts beside column files, such as the annotations of a service.
        is_json = bare_suffix(path).lower() in (".json", ".jsonl")
        return (is_json and recognise(path, self.reading.labelled)) or "columns"

    def documents(self, path: PathOrAddress) -> Iterator[List[LabelledSentence]]:
        """Yields documents; without marks of documents, each text or each sentence of columns."""
        name = self.format_of(path)
        return self._of_columns(path) if name == "columns" else self._of_texts(path, name)

    def documents_in(self, path: PathOrAddress, how: Optional[str] = None) -> Optional[Documents]:
        """Returns the document of each sentence of a file; None if the file does not mark documents.

        `how` says what marks them, as in `documents_of_rows` and `documents_of_texts`; by default it is
        the argument `documents`, or else the first kind of mark that the file has.
        """
        name = self.format_of(path)
        if name == "columns":
            found = self.survey(path)
            told = documents_of_columns(found, how or self.reading.documents)
            return documents_of_columns(found, how) if told is None else told
        read = list(self._of_texts(path, name))
        texts = [sentences[0].source for sentences in read if sentences[0].source is not None]
        of_texts = documents_of_texts(texts, str(path), name, how)
        if of_texts is None:
            return None
        numbers = zip(of_texts.of_item, read)
        of_item = [number for number, sentences in numbers for _ in sentences]
        return of_texts._replace(of_item=of_item)

    def survey(self, path: PathOrAddress) -> ColumnSurvey:
        """Detects the layout of a column file, and logs it."""
        reading, encoding = self.reading, self.reading.source_encoding
        found = survey_columns(path, reading, MOST_LINES if encoding == AUTO else _FEW_LINES)
        separator = found.scheme.label_separator
        if separator is not None and found.scheme.source_encoding is None and encoding == AUTO:
            raise ValueError(
                f"{path}: tags join several labels by {separator!r}; set `label_separator`, and "
                "`no_label_tag` where it is not 'O'"
            )
        if separator not in (None, reading.label_separator):
            raise ValueError(
                f"{path}: entities overlap, tags joined by {separator!r}; set `label_chains: true` "
                f"{'' if separator == SEPARATOR else f'and `label_separator: {separator!r}` '}of the "
                "dataset reader, and take the head `label_chains`; or keep one tag for each token"
            )
        level = logging.WARNING if found.spans and reading.tag_column is None else logging.INFO
        logger.log(level, "%s: %s", path, "; ".join(map(" ".join, found.describe())))
        return found

    def _of_columns(self, path: PathOrAddress) -> Iterator[List[LabelledSentence]]:
        """Yields documents like `read_documents`; without borders, each sentence by itself."""
        found, borders = self.survey(path), self.reading.documents
        reading = self.reading.found(found.scheme.source_encoding, found.scheme.unknown_tag)
        token, tag = found.layout.token, found.layout.tag
        columns = (
            [] if tag is None else [tag, *(found.column(each) for each in self.reading.more_tags)]
        )
        weight = None if tag is None else self.reading.weight
        weigh = partial(_weight_of_rows, None if weight is None else found.column(weight), path)
        counts = TextCounts()
        sentences = ([rows] for rows in found.sentences())
        for document in sentences if borders is None else found.documents(borders):
            yield [
                LabelledSentence(
                    tokens=[Token(row.columns[token]) for row in rows],
                    tags=self._tags(rows, token, columns, found.scheme, path, counts),
                    reading=reading,
                    place_of=partial(_place_in_rows, rows, path),
                    weight=weigh(rows),
                )
                for rows in document
            ]
        if self.reading.more_tags:
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
        kept = counts.without_overlaps(whole, self.reading.overlapping, by_label=True)
        return tags_of_text(counts.add(kept), self.reading.found(scheme.source_encoding))

    def _of_texts(self, path: PathOrAddress, format: str) -> Iterator[List[LabelledSentence]]:
        """Yields the sentences of each text; texts without tokens are skipped and counted."""
        counts = TextCounts()
        num_empty, weights = 0, WeightsOfTexts(self.reading.weight)
        # A number is that of a column.
        has_key = isinstance(self.reading.tag_column, str)
        reading = self.reading if has_key else replace(self.reading, tag_column=None)
        for text in READ_FORMATS[format].read(path, reading):
            weight = weights.of(text.properties, text.place)
            sentences = self._sentences(counts.add(self._fitted(text, counts)), text, weight)
            num_empty += not sentences
            if sentences:
                yield sentences
        logger.info("%s, read as %s: %s", path, format, counts.in_one_line())
        weights.warn(path)
        if num_empty:
            logger.warning("%s: left out %d texts without a token", path, num_empty)
        if counts.cut:
            logger.warning(
                "%s: %s tokens were cut, since entities begin or end inside them, such as %s; the "
                "tagger will not cut them in other texts. Use a `tokenizer` that splits there, which "
                "`allennlp start` looks for, to find such entities",
                *(path, counts.cut, counts.cut.listed()),
            )

    @cached_property
    def _splitter(self) -> TextSplitter:
        # Created for the first text, because loading rules takes a second.
        return TextSplitter(
            *(self.tokenizer, self.reading.language),
            max_sentence_tokens=self.reading.max_sentence_tokens,
        )

    def _fitted(self, text: AnnotatedText, counts: TextCounts) -> AnnotatedText:
        reading = self.reading
        if not reading.labelled:
            text = text._replace(entities=[])
        elif reading.label_chains:
            text = counts.without_overlaps(text, reading.overlapping, by_label=True)
        elif reading.overlapping != "refuse" or reading.label_separator is None:
            text = counts.without_overlaps(text, reading.overlapping)
        return counts.fitted(with_tokens(text, self._split, reading.max_sentence_tokens))

    def _split(self, text: AnnotatedText) -> Text:
        check_text(text.text, text.place, self._splitter.run_characters)
        split = self._splitter.document if self.reading.documents else self._splitter.sentence
        return split(text.text)

    def _sentences(
        self, fitted: AnnotatedText, text: AnnotatedText, weight: float
    ) -> List[LabelledSentence]:
        spans = fitted.tokens or []
        tags = tags_of_text(fitted, self.reading) if self.reading.labelled else None
        reading = self.reading.found(None if fitted.properties.get(PLAIN_TAGS) else "BIO")
        sentences, first = [], 0
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
                    reading=reading,
                    place_of=partial(_place_in_text, fitted.place, own),
                    text=fitted.text[begin:end],
                    source=text,
                    weight=weight,
                )
            )
            first += length
        return sentences


def _weight_of_rows(column: Optional[int], path: PathOrAddress, rows: Sequence[Row]) -> float:
    """Returns the weight of a sentence, which all its rows must have."""
    if column is None:
        return 1.0
    return common_weight([(row.columns[column], f"{path}:{row.number}") for row in rows])


def _place_in_rows(rows: Sequence[Row], path: PathOrAddress, position: int) -> str:
    row = rows[position]
    return f"{path}:{row.number}: in {row.quoted}"


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
