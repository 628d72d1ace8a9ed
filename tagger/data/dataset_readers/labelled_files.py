"""Files with gold tags, of any format, as documents of sentences."""

import logging
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence

from allennlp.data import Token, Tokenizer

from tagger.common.inputs import PathOrAddress, is_address, open_input
from tagger.common.ranges import check_number
from tagger.data.column_file import Row, read_documents, read_sentences
from tagger.data.dataset_readers.tag_spelling import TagSpelling
from tagger.data.formats import FORMATS, AnnotatedText, TextCounts, read_texts
from tagger.data.texts import TextSplitter
from tagger.data.tokenizers import LanguageRulesTokenizer
from tagger_onnx.inputs import check_text
from tagger_onnx.sentences import sentence_lengths

logger = logging.getLogger(__name__)

# The commands that prepare corpora which are not part of this project, by the name of their folder.
_PREPARED_BY = {
    "conll2003": "python scripts/prepare_conll2003.py SOURCE",
    "us_addresses": "python scripts/prepare_us_addresses.py",
}


class LabelledSentence:
    """A sentence of a file.

    Args:
        tokens: Its tokens; those of a text have offsets in it.
        tags: The tag of each as a column file spells it; None if tags are not read.
        place_of: Says for messages where the token of an index stands.
        text: The text of the sentence; None where the file does not keep it.
    """

    def __init__(
        self,
        tokens: List[Token],
        tags: Optional[List[str]],
        place_of: Callable[[int], str],
        text: Optional[str] = None,
    ) -> None:
        self.tokens = tokens
        self.tags = tags
        self.place_of = place_of
        self.text = text

    def __len__(self) -> int:
        return len(self.tokens)


class ColumnFiles(NamedTuple):
    """How column files are read. The arguments are those of the reader `column`."""

    token_column: int
    tag_column: Optional[int]
    delimiter: Optional[str]

    @property
    def is_default(self) -> bool:
        """Whether nothing was said of columns, so that files may be of other formats."""
        return self.token_column == 0 and self.tag_column in (None, -1) and self.delimiter is None

    def documents(
        self, path: PathOrAddress, borders: Optional[str]
    ) -> Iterator[List[LabelledSentence]]:
        """Yields documents as `read_documents`; without `borders`, each sentence by itself.

        Raises:
            ValueError: If a line is not as expected, or has no such columns.
        """
        with open_input(path) as lines:
            if borders is None:
                for rows in read_sentences(lines, path, self.delimiter):
                    yield [self._sentence(rows, path)]
            else:
                for document in read_documents(lines, path, self.delimiter, borders):
                    yield [self._sentence(rows, path) for rows in document]

    def _sentence(self, rows: List[Row], path: PathOrAddress) -> LabelledSentence:
        self._check_columns(rows[0], path)
        tags = None if self.tag_column is None else [row.columns[self.tag_column] for row in rows]
        tokens = [Token(row.columns[self.token_column]) for row in rows]
        return LabelledSentence(tokens, tags, partial(_place_in_rows, rows, path))

    def _check_columns(self, row: Row, path: PathOrAddress) -> None:
        num_columns = len(row.columns)
        wanted = [index for index in (self.token_column, self.tag_column) if index is not None]
        # An index beyond the line would wrap around to another column.
        found = {index % num_columns for index in wanted if -num_columns <= index < num_columns}
        if len(found) < len(wanted):
            raise ValueError(
                f"{path}:{row.number}: expected tokens in column {self.token_column} and tags in "
                f"column {self.tag_column}, got {row.columns}; correct `token_column` and "
                "`tag_column`, or set `tag_column` to null if there are no tags"
            )


def _place_in_rows(rows: Sequence[Row], path: PathOrAddress, position: int) -> str:
    row = rows[position]
    return f"{path}:{row.number}: in {row.quoted}"


class TextFiles:
    """How files of texts with entities are read, in the formats of `tagger.data.formats`.

    A text without tokens is split by the tokenizer, and a token is cut where an entity begins or ends
    inside it. What becomes of the texts is counted and logged.

    Args:
        spelling: How the tags of column files are spelled, which those of texts become.
        overlapping: What to do with overlapping entities, as for `check_overlaps`. Where a token may
            have several labels, `"refuse"` keeps them.
        label_names: The names of tags that are integers, from 0.
        offsets: What offsets count, as for `read_texts`.
        has_tags: Whether tags are read; without them texts need no entities.
        tokenizer: Splits texts; None for the rules of `language`.
        language: The spaCy code of the texts' language.
        are_documents: Whether every text is split into sentences, where the file tells none.
        max_sentence_tokens: The most tokens of a text that is not split into sentences otherwise.

    Raises:
        ConfigurationError: If `max_sentence_tokens` is below 1.
    """

    def __init__(
        self,
        spelling: TagSpelling,
        overlapping: str,
        label_names: Optional[List[str]],
        offsets: Optional[str],
        has_tags: bool,
        tokenizer: Optional[Tokenizer],
        language: str,
        are_documents: bool,
        max_sentence_tokens: Optional[int],
    ) -> None:
        if max_sentence_tokens is not None:
            is_valid = max_sentence_tokens >= 1
            check_number("max_sentence_tokens", max_sentence_tokens, is_valid, "at least 1")
        self._spelling = spelling
        self._overlapping = overlapping
        given: Dict[str, Any] = {"label_names": label_names, "offsets": offsets}
        self._options = {key: value for key, value in given.items() if value is not None}
        self._options["labelled"] = has_tags
        self._has_tags = has_tags
        self._tokenizer = tokenizer
        self._language = language
        self._are_documents = are_documents
        self._max_sentence_tokens = max_sentence_tokens

    def documents(self, path: PathOrAddress, format: str) -> Iterator[List[LabelledSentence]]:
        """Yields the sentences of each text; texts without a token are left out and counted.

        Raises:
            ValueError: If a text is not as expected; the message says where.
        """
        counts = TextCounts()
        num_empty = 0
        options = {
            key: self._options[key] for key in FORMATS[format].options if key in self._options
        }
        for text in read_texts(path, format, **options):
            sentences = self._sentences(counts.add(self._fitted(text, counts)))
            num_empty += not sentences
            if sentences:
                yield sentences
        logger.info("%s, read as %s: %s", path, format, counts.in_one_line())
        if num_empty:
            logger.warning("%s: left out %d texts without a token", path, num_empty)
        if counts.cut:
            logger.warning(
                "%s: %s tokens were cut, since entities begin or end inside them, such as %s; the "
                "tagger will not cut them in other texts. A `tokenizer` that splits there, which "
                "`allennlp start` looks for, finds such entities",
                path,
                counts.cut,
                counts.cut.listed(),
            )

    @cached_property
    def _splitter(self) -> TextSplitter:
        """Made at the first text, because rules take a second."""
        return TextSplitter(
            self._tokenizer or LanguageRulesTokenizer(self._language),
            self._language,
            max_sentence_tokens=self._max_sentence_tokens,
        )

    def _fitted(self, text: AnnotatedText, counts: TextCounts) -> AnnotatedText:
        if not self._has_tags:
            text = text._replace(entities=[])
        elif self._overlapping != "refuse" or self._spelling.label_separator is None:
            text = counts.without_overlaps(text, self._overlapping)
        return counts.fitted(self._with_tokens(text))

    def _with_tokens(self, text: AnnotatedText) -> AnnotatedText:
        if text.tokens is not None:
            starts = [start for start, _ in text.tokens]
            lengths = text.sentence_lengths or sentence_lengths(
                text.text, starts, self._max_sentence_tokens
            )
            return text._replace(sentence_lengths=lengths)
        check_text(text.text, text.place, self._splitter.run_characters)
        split = self._splitter.document if self._are_documents else self._splitter.sentence
        found = split(text.text)
        return text._replace(tokens=found.word_spans(), sentence_lengths=found.sentence_lengths)

    def _sentences(self, fitted: AnnotatedText) -> List[LabelledSentence]:
        spans = fitted.tokens or []
        tags = self._spelling.of_text(fitted) if self._has_tags else None
        lengths = [length for length in fitted.sentence_lengths or [len(spans)] if length]
        sentences, first = [], 0
        for length in lengths:
            of_sentence = spans[first : first + length]
            is_whole = length == len(spans)
            begin, end = (
                (0, len(fitted.text)) if is_whole else (of_sentence[0][0], of_sentence[-1][1])
            )
            sentences.append(
                LabelledSentence(
                    [
                        Token(fitted.text[start:stop], idx=start - begin, idx_end=stop - begin)
                        for start, stop in of_sentence
                    ],
                    None if tags is None else tags[first : first + length],
                    partial(_place_in_text, fitted.place, of_sentence),
                    fitted.text[begin:end],
                )
            )
            first += length
        return sentences


def _place_in_text(place: str, spans: Sequence[tuple[int, int]], position: int) -> str:
    return f"{place}: at character {spans[position][0]}"


def check_is_there(path: PathOrAddress) -> None:
    """Raises an error that says what puts a file there, if it is missing."""
    if not (is_address(path) or Path(path).exists()):
        command = _PREPARED_BY.get(Path(path).parent.name)
        remedy = f"`{command}` puts it there" if command else "correct the path"
        raise FileNotFoundError(
            f"{path}: expected a file, got none (the current folder is {Path.cwd()}); {remedy}"
        )
