"""Column files: a token and its tag on each line, a blank line after each sentence."""

import itertools
import re
from os import PathLike
from typing import Callable, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

from tagger.common.csv_rows import csv_rows
from tagger.data.text_encodings import decoded_lines

# Fewer characters than `str.split` strips: a token may contain a no-break space.
_BLANKS = " \t\r\n\f\v"

#: A line such as `<s id="1">` or `</s>` around a sentence.
_ELEMENT = re.compile(r"<\w+(\s+[\w:.-]+=(\"[^\"]*\"|'[^']*'))*\s*/?>|</\w+>")
#: A comment such as `# sent_id = 0`, which may also be within a sentence.
PROPERTY = re.compile(r"#\s*[\w.:-]+\s*=\s")
#: The line below the header of a table in Markdown.
_RULE = re.compile(r"\|?(\s*:?-{3,}:?\s*\|)+(\s*:?-{3,}:?\s*)?")


class Row(NamedTuple):
    """A line of a column file, with the tag in our usual spelling."""

    number: int
    text: str
    columns: List[str]

    @property
    def quoted(self) -> str:
        """The start of the line, for messages."""
        return repr(self.text[:200])


class Layout(NamedTuple):
    """What a column file looks like; `tagger.data.survey` finds it.

    Attributes:
        delimiter: The string between two columns; None for any run of blanks and tabs.
        is_quoted: Whether cells may be in quotation marks, as in CSV.
        num_columns: The number of columns; None for that of the first line.
        token: The column of the tokens, from 0.
        tag: The column of the tags; None if there is none.
        sentence: The column with sentence numbers, if any. An empty cell continues the previous
            sentence.
        names: The header's cells; where they come again, as in merged files, a sentence ends.
        documents: Columns that name documents, if a sentence number may be that of the sentence before.
        restarts: The column with token numbers, if only their restarts tell where sentences begin.
        header: The number of the line with the column names; 0 if there is none.
        canonical: Converts a tag of the file to our usual spelling.
        is_comment: Given a line that starts with `#`, and its cells, tells whether it is a comment and
            not a token. Within a sentence, it must be a `PROPERTY` with too few or too many cells.
    """

    delimiter: Optional[str] = None
    is_quoted: bool = False
    num_columns: Optional[int] = None
    token: int = 0
    tag: Optional[int] = None
    sentence: Optional[int] = None
    header: int = 0
    canonical: Optional[Callable[[str], str]] = None
    is_comment: Optional[Callable[[str, List[str]], bool]] = None
    restarts: Optional[int] = None
    names: Tuple[str, ...] = ()
    documents: Tuple[int, ...] = ()

    @property
    def numbers(self) -> Tuple[int, ...]:
        """The columns in which a change begins a sentence."""
        return (*(() if self.sentence is None else (self.sentence,)), *self.documents)


PLAIN = Layout()


def read_sentences(
    lines: Iterable[bytes], name: Union[str, PathLike], layout: Layout = PLAIN
) -> Iterator[List[Row]]:
    """Yields the non-empty sentences of a column file.

    Blank lines and CoNLL-2003's `-DOCSTART-` lines separate sentences. Byte order marks are skipped.
    Lines may end as on Windows, or by carriage returns alone, as on old Macs. Messages have the `name`.

    Example:
        >>> lines = [b"-DOCSTART- O", b"", b"Ada B-PER", b"left O", b" ", b"Why O"]
        >>> for sentence in read_sentences(lines, "demo.txt"):
        ...     print([row.columns for row in sentence])
        [['Ada', 'B-PER'], ['left', 'O']]
        [['Why', 'O']]
    """
    return (sentence for sentence, _ in read_sentences_and_gaps(lines, name, layout))


def read_documents(
    lines: Iterable[bytes],
    name: Union[str, PathLike],
    layout: Layout = PLAIN,
    borders: str = "docstart",
) -> Iterator[List[List[Row]]]:
    """Like `read_sentences`, but grouped by document; `borders` is one of the `DOCUMENT_BORDERS`.

    Example:
        >>> lines = [b"-DOCSTART-", b"Ada B-PER", b"", b"Why O", b"-DOCSTART-", b"Lima B-LOC"]
        >>> for document in read_documents(lines, "demo.txt"):
        ...     print([[row.columns[0] for row in sentence] for sentence in document])
        [['Ada'], ['Why']]
        [['Lima']]
    """
    document: List[List[Row]] = []
    for sentence, gap in read_sentences_and_gaps(lines, name, layout):
        has_docstart = any(is_docstart(row.text) for row in gap)
        if document and (len(gap) > 1 if borders == "blank_lines" else has_docstart):
            yield document
            document = []
        document.append(sentence)
    yield document


def is_docstart(text: str) -> bool:
    """Whether a line starts a CoNLL-2003 document: a column has its mark, often the first one."""
    before, mark, _ = text.partition("-DOCSTART-")
    return bool(mark) and before[-1:].strip(_BLANKS + ',;|"') == ""


def read_sentences_and_gaps(
    lines: Iterable[bytes], name: Union[str, PathLike], layout: Layout = PLAIN
) -> Iterator[Tuple[List[Row], List[Row]]]:
    """Like `read_sentences`, but yields each sentence with the lines between it and the previous one."""
    is_empty = True
    gap: List[Row] = []
    rows = _read_rows(decoded_lines(lines, name), name, layout)
    if layout.sentence is not None or layout.restarts is not None:
        rows = divided(rows, layout.numbers, layout.restarts, name)
    for has_columns, group in itertools.groupby(rows, key=lambda row: bool(row.columns)):
        if has_columns:
            is_empty = False
            yield list(group), gap
        else:
            gap = list(group)
    if is_empty:
        raise ValueError(
            f"{name}: expected a token and its tag on each line, got no sentence at all"
        )


def _read_rows(
    lines: Iterable[Tuple[int, str]], name: Union[str, PathLike], layout: Layout
) -> Iterator[Row]:
    """Yields the rows of tokens, with empty rows between sentences."""
    num, tag, canonical = layout.num_columns, layout.tag, layout.canonical
    # With span tags, an empty tag is fine: it means no label.
    needed = [layout.token] if tag is None or canonical is not None else [layout.token, tag]
    is_start, first_line = True, None
    for row in split_rows(lines, layout.delimiter, layout.is_quoted, name):
        number, text, columns = row
        if not columns:
            is_start = True
            yield row
            continue
        if number == layout.header or (
            text[0] == "#"
            and layout.is_comment
            and (is_start or (PROPERTY.match(text) and len(columns) != num))
            and layout.is_comment(text, columns)
        ):
            continue
        if (*columns,) == layout.names:
            is_start = True
            yield row._replace(columns=[])
            continue
        is_start = False
        first_line, num = first_line or number, num or len(columns)
        if len(columns) != num or not all(columns):
            fitted = fitted_columns(columns, num)
            if fitted is None or not all(fitted[column] for column in needed):
                raise ValueError(_message(name, row, num, first_line, layout))
            columns[:] = fitted
        if canonical is not None and tag is not None:
            columns[tag] = canonical(columns[tag])
        yield row


def split_rows(
    lines: Iterable[Tuple[int, str]],
    delimiter: Optional[str],
    is_quoted: bool = False,
    name: Union[str, PathLike] = "",
) -> Iterator[Row]:
    """Splits lines into cells; lines that only separate sentences have none."""
    if not is_quoted:
        for number, text in lines:
            yield Row(number, text, _split_columns(text, delimiter))
        return
    for read, cells in csv_rows(lines, delimiter or ",", name):
        text = "\n".join(line for _, line in read)
        columns = [cell.strip(_BLANKS) for cell in cells]
        is_empty = is_docstart(text) or _is_gap(columns, delimiter or ",")
        # The number is that of the row's last line.
        yield Row(read[-1][0], text, [] if is_empty else columns)


def fitted_columns(columns: List[str], num: int) -> Optional[List[str]]:
    """Drops empty cells beyond the last column; returns None if not `num` cells remain.

    Example:
        >>> fitted_columns(["is", "O", ""], 2), fitted_columns(["is"], 2)
        (['is', 'O'], None)
    """
    return None if len(columns) < num or any(columns[num:]) else columns[:num]


def divided(
    rows: Iterable[Row],
    numbers: Sequence[int],
    index: Optional[int] = None,
    name: Union[str, PathLike] = "",
) -> Iterator[Row]:
    """Inserts an empty row where a number in the columns `numbers` changes, or `index` restarts."""
    before, last = [""] * len(numbers), -1
    for row in rows:
        found = [row.columns[i] for i in numbers] if row.columns else before
        place = last + 1
        if row.columns and index is not None:
            place = _place(row, index, name)
        if any(a and b and a != b for a, b in zip(before, found)) or place <= last:
            yield Row(row.number, "", [])
        before, last = [b or a for a, b in zip(before, found)], place
        yield row


def _place(row: Row, index: int, name: Union[str, PathLike]) -> int:
    cell = row.columns[index]
    if cell.isdecimal():
        return int(cell)
    raise ValueError(
        f"{name}:{row.number}: expected the number of a token in column {index}, got {cell!r} in "
        f"{row.quoted}; correct the line, or put a blank line after each sentence"
    )


def _message(
    name: Union[str, PathLike], row: Row, num: int, first_line: int, layout: Layout
) -> str:
    remedy = "correct the line"
    if layout.delimiter is None and len(row.columns) > num:
        remedy += (
            ", or, if tokens contain blanks, separate columns by tabs and set `delimiter` to '\\t'"
        )
    where = f"{name}:{row.number}: expected {num} columns"
    where += f" as on line {first_line}" if first_line != row.number else ""
    fitted = fitted_columns(row.columns, num)
    got = len(row.columns) if fitted is None else "an empty one"
    if fitted is not None and not fitted[layout.token]:
        remedy += ", or remove it if its token is white space"
    return f"{where}, got {got} in {row.quoted}; {remedy}"


def _split_columns(text: str, delimiter: Optional[str]) -> List[str]:
    """Returns the cells of a line, none if it only separates sentences."""
    stripped = text.strip(_BLANKS)
    if not stripped or is_docstart(stripped) or _ELEMENT.fullmatch(stripped):
        return []
    if delimiter is None:
        return re.split(f"[{_BLANKS}]+", stripped)
    if delimiter == "|":
        if _RULE.fullmatch(stripped):
            return []
        is_boxed = stripped[0] == stripped[-1] == "|" and len(stripped) > len("|||")
        text = stripped[1:-1] if is_boxed else text
    columns = [column.strip(_BLANKS) for column in text.split(delimiter)]
    return [] if _is_gap(columns, delimiter) else columns


def _is_gap(columns: Sequence[str], delimiter: Optional[str]) -> bool:
    """Whether cells only separate sentences: they are empty, in CSV perhaps except for a tag `O`."""
    filled = [*filter(None, columns)]
    if filled == ["sep="]:  # Excel's first line
        return True
    is_csv = delimiter in (",", ";") and len(columns) > 1
    return not filled or (is_csv and filled in (["O"], ["o"]))
