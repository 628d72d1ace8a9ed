"""A column file or a CSV file of tokens, understood as a whole: the reader of all commands."""

import io
import os
import stat
from collections import Counter
from contextlib import contextmanager
from functools import lru_cache
from itertools import groupby, islice
from os import fspath
from pathlib import Path
from typing import BinaryIO, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from tagger.common.files import check_is_file
from tagger.common.inputs import PathOrAddress, is_address
from tagger.data.column_file import (
    Layout,
    Row,
    fitted_columns,
    read_documents,
    read_sentences,
    split_rows,
)
from tagger.data.decoded_lines import decoded_lines
from tagger.data.survey.columns import Column, Comments, find_columns, find_header
from tagger.data.survey.delimiters import Table, comments_apart, find_table
from tagger.data.survey.other_files import holds_sentences, what_else
from tagger.data.survey.schemes import Scheme, find_scheme
from tagger.data.survey.spellings import STANDARD, find_spelling, joined_spans
from tagger.data.survey.text_encodings import open_text

#: How many lines of a file tell what it looks like.
MOST_LINES = 300_000
#: Encodings that people know better by other names.
NAMES = {"utf-8": "UTF-8", "cp1252": "Windows-1252 or Latin-1, by the look of it"}
#: A file has columns if at least this share of its lines have the same number of them.
_LEAST_SHARE = 0.5
_NO_SENTENCE = "{path}: expected a token and its tag on each line, got no sentence at all"
#: Stands for an encoding that is found in the file.
AUTO = "auto"


class Known(NamedTuple):
    """What a user says of a column file, so that it is not looked for.

    Attributes:
        text_encoding: How its bytes spell text, in Python's words.
        delimiter: The string between two columns.
        token_column: The number or the name of the column of the tokens.
        tag_column: The number or the name of the column of the tags.
        source_encoding: What the tags mean: an encoding of spans, None for anything else, or "auto".
        labelled: Whether tags are read.
    """

    text_encoding: Optional[str] = None
    delimiter: Optional[str] = None
    token_column: Optional[Column] = None
    tag_column: Optional[Column] = None
    source_encoding: Optional[str] = AUTO
    labelled: bool = True


#: Nothing is known of a file.
NOTHING = Known()


class ColumnSurvey(NamedTuple):
    """What a column file holds.

    Attributes:
        path: The file.
        text_encoding: How its bytes spell text, in Python's words.
        layout: What it looks like, for those who read it.
        scheme: What its tags mean.
        header: The names of its columns, if it has them.
        comments: The first of its comments, by their lines.
        spans: The number of spans in each column that spells spans, if several do.
        separator: What separates its columns, for people.
        content: All of it in UTF-8, if it can be read only once.
    """

    path: PathOrAddress
    text_encoding: str
    layout: Layout
    scheme: Scheme
    header: List[str]
    comments: Dict[int, str]
    spans: Mapping[int, int]
    separator: str
    content: Optional[bytes] = None

    def sentences(self) -> Iterator[List[Row]]:
        """Yields the sentences, as `read_sentences`; their tags are spelled in our way."""
        with self._opened() as lines:
            yield from read_sentences(lines, fspath(self.path), self.layout)

    def sentences_and_gaps(self) -> Tuple[List[List[Row]], List[List[str]], List[str]]:
        """Returns the sentences, the lines before each that belong to none, and those of the header."""
        name, header = fspath(self.path), self.layout.header
        with self._opened() as file:
            lines = [line for _, line in decoded_lines(file, name)]
        sentences = list(self.sentences())
        ends = [header, *(rows[-1].number for rows in sentences)]
        starts = (rows[0].number - 1 - rows[0].text.count("\n") for rows in sentences)
        return sentences, [lines[end:start] for end, start in zip(ends, starts)], lines[:header]

    def documents(self, borders: str) -> Iterator[List[List[Row]]]:
        """Yields the documents, as `read_documents`."""
        with self._opened() as lines:
            yield from read_documents(lines, fspath(self.path), self.layout, borders)

    @contextmanager
    def _opened(self) -> Iterator[BinaryIO]:
        if self.content is not None:
            yield io.BytesIO(self.content)
            return
        with open_text(self.path, self.text_encoding) as (file, _):
            yield file

    def describe(self) -> List[Tuple[str, str]]:
        """Returns what was found: what it concerns, and what it is."""
        layout = self.layout
        lines = [("text", NAMES.get(self.text_encoding, self.text_encoding.upper()))]
        if self.comments:
            number, comment = next(iter(self.comments.items()))
            found = f"{len(self.comments):,}, the first on line {number}: {comment[:60]!r}"
            lines.append(("comments", found))
        if self.header:
            names = ", ".join(self.header)
            lines.append(("header", f"line {layout.header}: {names[:120]}"))
        where = f"tokens in column {layout.token}"
        where += f", tags in column {layout.tag}" if layout.tag is not None else ", no tags"
        if layout.sentence is not None:
            where += f", sentences numbered in column {layout.sentence}"
        marks = ", with quotation marks" if layout.is_quoted else ""
        columns = (
            f"{layout.num_columns}, separated by {self.separator}{marks}: {where} (counted from 0)"
        )
        lines.append(("columns", columns))
        if self.spans:
            counts = ", ".join(
                f"{spans:,} in column {self.named(i)}" for i, spans in self.spans.items()
            )
            text = f"{counts}; `--tag-column` (`tag_column`) reads another than {layout.tag}"
            lines.append(("spans", text))
        if layout.tag is not None:
            lines.append(("tags", described_scheme(self.scheme)))
        return lines

    def named(self, column: int) -> str:
        """Returns the number of a column, and its name if it has one."""
        return f"{column} ({self.header[column]})" if self.header else str(column)


def described_scheme(scheme: Scheme) -> str:
    """Says what tags mean."""
    unknown = f"; {scheme.unknown_tag!r} is unknown" if scheme.unknown_tag else ""
    if scheme.label_separator is not None:
        return (
            f"several labels a token, joined by {scheme.label_separator!r}; {scheme.no_label_tag!r} is "
            f"none{unknown}"
        )
    if scheme.source_encoding is None:
        return f"plain labels, which mark no spans{unknown}"
    spelled = f", spelled {scheme.spelling}" if scheme.spelling != STANDARD else ""
    return f"spans in {scheme.source_encoding}{spelled}{unknown}"


def survey_columns(
    path: PathOrAddress, known: Known = NOTHING, most_lines: int = MOST_LINES
) -> ColumnSurvey:
    """Finds out what a column file holds.

    Args:
        path: The file.
        known: What is known of it.
        most_lines: How many of its lines are looked at.

    Raises:
        ValueError: If it is no column file, or lacks what is expected; the message says what it looks
            like, and where.
    """
    if is_address(path):
        return _surveyed(fspath(path), known, most_lines, None)
    check_is_file(path)
    found = os.stat(path)
    if not stat.S_ISREG(found.st_mode):
        return _surveyed.__wrapped__(fspath(path), known, most_lines, None)
    # A file that changes is another one.
    return _surveyed(fspath(path), known, most_lines, (found.st_mtime_ns, found.st_size))


@lru_cache(maxsize=4)  # a command describes a file before it reads it
def _surveyed(path: str, known: Known, most_lines: int, _stamp: object) -> ColumnSurvey:
    with open_text(path, known.text_encoding) as opened:
        # What can be read only once is kept.
        content = None if is_address(path) or Path(path).is_file() else opened.file.read()
        file = opened.file if content is None else io.BytesIO(content)
        numbered = list(islice(decoded_lines(file, path), most_lines))
    lines = [line for _, line in numbered]
    others, comments = comments_apart(lines)
    if not any(map(str.strip, others)):  # each sentence is a token that starts with `#`
        others, comments = lines, []
    # A file without tags may have no other column than that of the tokens.
    is_single = not known.labelled and known.token_column in (None, 0)
    is_known = known.delimiter is not None or known.tag_column is not None
    reason = None if is_single or is_known else what_else(others, lines[0] if lines else "")
    if reason is not None:
        raise ValueError(f"{path}: expected a column file, got {reason}")
    table = find_table(others, known.delimiter)
    if table.share < _LEAST_SHARE:
        if not is_single:
            raise ValueError(_no_columns(path, numbered, set(comments)))
        table = Table(None, False, 1, 1.0)
    sentences = _sentences(numbered, set(comments), table, path)
    found = {numbered[index][0]: lines[index] for index in comments}
    survey = _survey(path, known, opened.text_encoding, sentences, table, found)
    return survey._replace(content=content)


def _no_columns(path: str, lines: Sequence[Tuple[int, str]], comments: set[int]) -> str:
    shown = [(n, line) for i, (n, line) in enumerate(lines) if line.strip() and i not in comments]
    if not shown:
        return _NO_SENTENCE.format(path=path)
    number, line = shown[0]
    return (
        f"{path}:{number}: expected a token and its tag, separated by blanks or a tab, got "
        f"{line[:80]!r}; put one token on each line, and its tag after it"
    )


def _sentences(
    lines: Sequence[Tuple[int, str]], comments: set[int], table: Table, name: str
) -> List[List[Row]]:
    """Returns the rows of each sentence; those that do not fit are named when the file is read."""
    kept = ((number, "" if i in comments else line) for i, (number, line) in enumerate(lines))
    rows = split_rows(kept, table.delimiter, table.is_quoted, name)
    found = []
    for has_columns, group in groupby(rows, key=lambda row: bool(row.columns)):
        fitted = [(row, fitted_columns(row.columns, table.num_columns)) for row in group]
        sentence = [row._replace(columns=columns) for row, columns in fitted if columns]
        if has_columns and sentence:
            found.append(sentence)
    return found


def _survey(
    path: str,
    known: Known,
    text_encoding: str,
    sentences: List[List[Row]],
    table: Table,
    comments: Dict[int, str],
) -> ColumnSurvey:
    header = find_header([row for rows in sentences for row in rows], known.labelled)
    names = header.columns if header else []
    if header:
        sentences = [rows for rows in (sentences[0][1:], *sentences[1:]) if rows]
    if not sentences:
        raise ValueError(_NO_SENTENCE.format(path=path))
    columns = find_columns(
        sentences, path, known.token_column, known.tag_column, names, known.labelled
    )
    if columns.tag is not None and table.delimiter is not None:
        rows = [row.columns for of_sentence in sentences for row in of_sentence]
        reason = holds_sentences(*([row[i] for row in rows] for i in (columns.token, columns.tag)))
        if reason is not None:
            raise ValueError(f"{path}: expected a column file, got {reason}")
    if columns.sentence is not None:
        sentences = _by_number(sentences, columns.sentence)
    scheme, canonical, tags = Scheme(), None, frozenset[str]()
    if columns.tag is not None:
        scheme = _scheme(sentences, columns.tag, known.source_encoding, path)
        tags = frozenset(row.columns[columns.tag] for rows in sentences for row in rows)
        canonical = _Canonical(scheme).__getitem__ if scheme.source_encoding else None
    spelling = scheme.spelling if scheme.source_encoding not in (None, "IO") else None
    layout = Layout(
        table.delimiter,
        table.is_quoted,
        table.num_columns,
        columns.token,
        columns.tag,
        columns.sentence,
        header.number if header else 0,
        canonical,
        Comments(table.num_columns, columns.tag, tags, spelling).are,
    )
    is_comment = layout.is_comment
    found = {
        number: line
        for number, line in comments.items()
        for row in split_rows([(number, line)], table.delimiter)
        if is_comment and is_comment(line, row.columns)
    }
    separator = "tabs alone" if layout.delimiter == "\t" else repr(layout.delimiter)
    if layout.delimiter is None:
        have_tabs = frozenset("\t" in row.text for rows in sentences for row in rows)
        separator = {frozenset([True]): "tabs", frozenset([False]): "blanks"}.get(
            have_tabs, "blanks or tabs"
        )
    return ColumnSurvey(path, text_encoding, layout, scheme, names, found, columns.spans, separator)


class _Canonical(Dict[str, str]):
    """The tags of a file as our encodings spell them, each found out once."""

    def __init__(self, scheme: Scheme) -> None:
        super().__init__()
        self._scheme = scheme

    def __missing__(self, tag: str) -> str:
        self[tag] = self._scheme.canonical(tag)
        return self[tag]


def _by_number(sentences: Sequence[Sequence[Row]], column: int) -> List[List[Row]]:
    """Divides sentences where the cell changes that numbers them; an empty one changes nothing."""
    found: List[List[Row]] = []
    for rows in sentences:
        number = ""
        for row in rows:
            if not number or row.columns[column] not in ("", number):
                number = row.columns[column]
                found.append([])
            found[-1].append(row)
    return found


def _scheme(
    sentences: Sequence[Sequence[Row]], tag: int, encoding: Optional[str], path: str
) -> Scheme:
    if encoding is None:
        return Scheme()
    tags = [[row.columns[tag] for row in rows] for rows in sentences]
    spelling = find_spelling(Counter(tag for of_sentence in tags for tag in of_sentence))
    if spelling is not None and encoding != "IO":
        for row in (row for rows in sentences for row in rows):
            joined = joined_spans(row.columns[tag], spelling)
            if joined:
                raise ValueError(
                    f"{path}:{row.number}: in {row.quoted}, the tag joins "
                    f"{' and '.join(joined)}, but spans that lie in one another are not read yet; keep "
                    "one tag for each token"
                )
    if encoding == AUTO:
        return find_scheme(tags)
    return Scheme(encoding, spelling=spelling or STANDARD)
