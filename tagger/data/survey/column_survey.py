"""Detects the layout of a column file, or a CSV file of tokens, for all commands."""

import io
import os
import stat
from collections import Counter
from contextlib import contextmanager
from functools import cache, lru_cache
from itertools import groupby, islice
from os import fspath
from pathlib import Path
from statistics import mean
from typing import (
    BinaryIO,
    Dict,
    Iterable,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
)

from tagger.common.files import check_is_file
from tagger.common.inputs import PathOrAddress, is_address, stamp_of_address
from tagger.data.column_file import (
    Layout,
    Row,
    divided,
    fitted_columns,
    is_docstart,
    read_documents,
    read_sentences,
    split_rows,
)
from tagger.data.reading import AUTO, DETECTED, Column, Reading
from tagger.data.survey.columns import comment_test, find_columns
from tagger.data.survey.delimiters import Table, comments_apart, find_table, fitting_rows
from tagger.data.survey.headers import find_header, named, names_tokens
from tagger.data.survey.other_files import Found, check_tokens, what_else
from tagger.data.survey.schemes import Scheme, find_scheme
from tagger.data.survey.spellings import STANDARD, find_spelling, outside_tags, separator_of_spans
from tagger.data.survey.token_columns import label_column
from tagger.data.text_encodings import decoded_lines, open_text

#: The number of lines to examine.
MOST_LINES = 300_000
#: Better-known names of encodings.
NAMES = {"utf-8": "UTF-8", "cp1252": "Windows-1252 or Latin-1, by the look of it"}
#: A file has columns if at least this share of its lines have the same number of them.
_LEAST_SHARE = 0.5
_NO_SENTENCE = "{path}: expected a token and its tag on each line, got no sentence at all"


class ColumnSurvey(NamedTuple):
    """The layout and contents of a column file.

    Attributes:
        text_encoding: Python's name of the text's encoding.
        layout: The layout for reading sentences.
        scheme: The meaning of the tags.
        header: The names of the columns, if any.
        comments: The first comments, by line number.
        spans: The number of spans in each column with spans, if there are several.
        separator: A readable name for the delimiter.
        content: The whole content in UTF-8, if the file can be read only once.
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
        """Yields the sentences, see `read_sentences`, with tags in our usual spelling."""
        with self._opened() as lines:
            yield from read_sentences(lines, fspath(self.path), self.layout)

    def sentences_and_gaps(self) -> Tuple[List[List[Row]], List[List[str]], List[str]]:
        """Returns the sentences, the lines between them, and those of the header."""
        name, header = fspath(self.path), self.layout.header
        with self._opened() as file:
            lines = [line for _, line in decoded_lines(file, name)]
        sentences = list(self.sentences())
        ends = [header, *(rows[-1].number for rows in sentences)]
        starts = (rows[0].number - 1 - rows[0].text.count("\n") for rows in sentences)
        gaps = [lines[end:start] for end, start in zip(ends, starts)]
        if header:  # it may come again in merged files
            gaps = [[line for line in gap if line != lines[header - 1]] for gap in gaps]
        return sentences, gaps, lines[:header]

    def documents(self, borders: str) -> Iterator[List[List[Row]]]:
        """Yields the documents, see `read_documents`."""
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
        """Returns the findings as pairs of a topic and a description."""
        layout = self.layout
        lines = [("text", NAMES.get(self.text_encoding, self.text_encoding.upper()))]
        if self.comments:
            number, comment = next(iter(self.comments.items()))
            first = f"the first on line {number}: {comment[:60]!r}"
            lines.append(("comments", f"{len(self.comments):,}, {first}"))
        if self.header:
            lines.append(("header", f"line {layout.header}: {', '.join(self.header)[:120]}"))
        marks = ", with quotation marks" if layout.is_quoted else ""
        where = f"tokens in column {layout.token}"
        where += f", tags in column {layout.tag}" if layout.tag is not None else ", no tags"
        if layout.sentence is not None:
            where += f", sentences numbered in column {layout.sentence}"
        if layout.restarts is not None:
            where += f", sentences where the numbers in column {layout.restarts} start again"
        columns = f"{layout.num_columns}, separated by {self.separator}{marks}"
        lines.append(("columns", f"{columns}: {where} (counted from 0)"))
        if self.spans:
            counts = ", ".join(f"{n:,} in column {self.named(i)}" for i, n in self.spans.items())
            remedy = f"`--tag-column` (`tag_column`) reads another than {layout.tag}"
            lines.append(("spans", f"{counts}; {remedy}"))
        if layout.tag is not None:
            lines.append(("tags", self.scheme.describe()))
        return lines

    def column(self, given: Column) -> int:
        """Returns a column's number, given its name in the header or a number, which may be negative."""
        number = self.header.index(given) if given in self.header else given
        most = self.layout.num_columns or 0
        if not isinstance(number, int) or not -most <= number < most:
            raise ValueError(f"{self.path}: there is no column {given!r} among {most}")
        return number % most

    def named(self, column: int) -> str:
        """Returns the number of a column, and its name if it has one."""
        return f"{column} ({self.header[column]})" if self.header else str(column)


def survey_columns(
    path: PathOrAddress, reading: Reading = DETECTED, most_lines: int = MOST_LINES
) -> ColumnSurvey:
    """Detects a column file's layout from its first lines."""
    if is_address(path):
        stamp = stamp_of_address(path)
    else:
        check_is_file(path)
        found = os.stat(path)
        is_kept = stat.S_ISREG(found.st_mode)
        stamp = (found.st_mtime_ns, found.st_size) if is_kept else None
    if stamp is None:
        return _surveyed.__wrapped__(fspath(path), reading, most_lines, None)
    # The stamp makes a changed file miss the cache.
    return _surveyed(fspath(path), reading, most_lines, stamp)


@lru_cache(maxsize=4)  # a command describes a file before it reads it
def _surveyed(path: str, reading: Reading, most_lines: int, _stamp: object) -> ColumnSurvey:
    with open_text(path, reading.text_encoding) as (file, text_encoding):
        # Keep the content of files that can be read only once.
        content = None if is_address(path) or Path(path).is_file() else file.read()
        opened = file if content is None else io.BytesIO(content)
        numbered = list(islice(decoded_lines(opened, path), most_lines))
    lines = [line for _, line in numbered]
    others, comments = comments_apart(lines)
    if not any(map(str.strip, others)):  # each sentence is a token that starts with `#`
        others, comments = lines, []
    # A file without tags may have only a column of tokens.
    is_single = not reading.labelled and reading.token_column in (None, 0)
    is_known = reading.delimiter is not None or reading.tag_column is not None
    reason = None if is_single or is_known else what_else(others, lines[0] if lines else "")
    if reason is not None:
        raise ValueError(f"{path}: expected a column file, got {reason}")
    table = find_table(others, reading.delimiter)
    if table.share < _LEAST_SHARE:
        if not is_single:
            raise ValueError(_no_columns(path, numbered, set(comments)))
        table = Table(None, False, 1, 1.0)
    opening = next((i for i, index in enumerate(comments) if i != index), len(comments))
    heads = [i for i in comments[:opening] if _names_columns(lines[i], table, reading)]
    comments = [i for i in comments if i not in heads[:1]]
    for index in comments:
        numbered[index] = (numbered[index][0], "")
    rows = fitting_rows(numbered, table, path)
    found = _survey(path, reading, text_encoding, rows, table)
    is_comment = found.layout.is_comment
    return found._replace(
        content=content,
        comments={
            row.number: row.text
            for index in comments
            for row in split_rows([(numbered[index][0], lines[index])], table.delimiter)
            if is_comment and is_comment(row.text, row.columns)
        },
    )


def _names_columns(line: str, table: Table, reading: Reading) -> bool:
    """Whether a line that starts with `#`, as the name of a column, is a header and no comment."""
    for row in split_rows([(1, line)], table.delimiter, table.is_quoted):
        if fitted_columns(row.columns, table.num_columns) is not None:
            names = [cell.lower() for cell in row.columns]
            given = reading.token_column, reading.tag_column
            return names_tokens(names) or any(cell in given for cell in row.columns)
    return False


def _no_columns(path: str, lines: Sequence[Tuple[int, str]], comments: set[int]) -> str:
    shown = (
        (n, line)
        for i, (n, line) in enumerate(lines)
        if line.strip() and i not in comments and not is_docstart(line.strip())
    )
    number, line = next(shown, (None, ""))
    if number is None:
        return _NO_SENTENCE.format(path=path)
    return (
        f"{path}:{number}: expected a token and its tag, separated by blanks or a tab, got "
        f"{line[:80]!r}; put one token on each line, and its tag after it"
    )


def _grouped(rows: Iterable[Row]) -> List[List[Row]]:
    """Groups rows into sentences, separated by rows without columns."""
    groups = groupby(rows, key=lambda row: bool(row.columns))
    return [list(group) for has_columns, group in groups if has_columns]


def _most_words(rows: Sequence[Row]) -> float:
    """Returns how many words a cell has on average, in the column where they have most."""
    columns = zip(*(row.columns for row in rows))
    return max(mean(len(cell.split()) for cell in column) for column in columns)


def _survey(
    path: str, reading: Reading, text_encoding: str, rows: List[Row], table: Table
) -> ColumnSurvey:
    """Detects the header, the columns and the meaning of tags."""
    given = [each for each in (reading.token_column, reading.tag_column) if isinstance(each, str)]
    header = find_header([row for row in rows if row.columns], given)
    if header:
        rows = [
            row._replace(columns=[]) if row.columns == header.columns else row
            for row in rows
            if row is not header
        ]
    sentences = _grouped(rows)
    if not sentences:
        raise ValueError(_NO_SENTENCE.format(path=path))
    names = header.columns if header else []
    named_tokens = named([name.lower() for name in names], "token")
    columns = find_columns(sentences, path, reading, names)
    if columns.sentence is not None or columns.restarts is not None:
        numbers = Layout(sentence=columns.sentence, documents=columns.documents).numbers
        sentences = _grouped(divided(rows, numbers, columns.restarts, path))
    filled = [row for of_sentence in sentences for row in of_sentence]
    scheme, canonical, tags = Scheme(), None, frozenset[str]()
    if columns.tag is not None:
        scheme = _scheme(path, sentences, columns.tag, reading.source_encoding)
        pairs = [(row.columns[columns.token], row.columns[columns.tag]) for row in filled]
        found = Found(
            len(sentences),
            table.num_columns,
            is_plain=scheme == Scheme(),
            has_delimiter=table.delimiter is not None,
            tokens_are_known=reading.token_column is not None or columns.token == named_tokens,
            tags_are_known=reading.tag_column is not None or bool(names),
            most_words=_most_words(filled) if scheme == Scheme() else 0,
        )
        check_tokens(path, pairs, found)
        tags = frozenset(tag for _, tag in pairs)
        _check_labels(path, [row.columns for row in filled], columns.tag)
        canonical = cache(scheme.canonical) if scheme.source_encoding else None
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
        comment_test(table.num_columns, columns.tag, tags, spelling),
        columns.restarts,
        (*names,),
        columns.documents,
    )
    separator = "tabs alone" if layout.delimiter == "\t" else repr(layout.delimiter)
    if layout.delimiter is None:
        have_tabs = {"\t" in row.text for row in filled}
        names_of = {False: "blanks", True: "tabs"}
        separator = " or ".join(names_of[each] for each in sorted(have_tabs))
    return ColumnSurvey(path, text_encoding, layout, scheme, names, {}, columns.spans, separator)


def _check_labels(path: str, rows: Sequence[Sequence[str]], tag: int) -> None:
    """Raises an error if another column has the labels of the tags."""
    cells = {i: [row[i] for row in rows] for i in range(len(rows[0]))}
    other = label_column(cells, tag)
    if other is not None:
        at = next(i for i, each in enumerate(cells[tag]) if each != "O")
        prefix, label = cells[tag][at], cells[other][at]
        raise ValueError(
            f"{path}: column {tag} has prefixes such as {prefix!r}, and column {other} their labels, "
            f"such as {label!r}; join both as `{prefix}-{label}` in one column"
        )


def _scheme(
    path: str, sentences: Sequence[Sequence[Row]], tag: int, encoding: Optional[str]
) -> Scheme:
    if encoding is None:
        return Scheme()
    tags = [[row.columns[tag] for row in rows] for rows in sentences]
    counts = Counter(tag for of_sentence in tags for tag in of_sentence)
    spelling = find_spelling(counts)
    if encoding == AUTO:
        try:
            return find_scheme(tags)
        except ValueError as error:
            raise ValueError(f"{path}: in column {tag}, {error}") from None
    separator = separator_of_spans(counts, spelling) if spelling and encoding != "IO" else None
    outside = outside_tags(counts, None if encoding == "IO" else spelling)
    return Scheme(encoding, separator, spelling=spelling or STANDARD, outside=outside)
