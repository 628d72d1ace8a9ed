"""Column files: a token and its tag on each line, a blank line after each sentence."""

import itertools
import re
from os import PathLike
from typing import Iterable, Iterator, List, NamedTuple, Optional, Tuple, Union

from tagger.data.decoded_lines import decoded_lines

# Fewer than `str.split` strips: a token may hold a no-break space.
_BLANKS = " \t\r\n\f\v"

#: What may lie between two documents of a column file: a `-DOCSTART-` line, or several blank lines.
DOCUMENT_BORDERS = ("docstart", "blank_lines")


#: How many characters of a line a message quotes.
_MOST_QUOTED = 200


class Row(NamedTuple):
    """A line of a column file."""

    number: int
    text: str
    columns: List[str]

    @property
    def quoted(self) -> str:
        """The beginning of the line, for messages."""
        return repr(self.text[:_MOST_QUOTED])


def read_sentences(
    lines: Iterable[bytes], name: Union[str, PathLike], delimiter: Optional[str] = None
) -> Iterator[List[Row]]:
    """Yields the sentences of a column file, none of them empty.

    Lines of white space and CoNLL-2003's `-DOCSTART-` lines separate sentences. Byte order marks are
    skipped. Lines may end as on Windows or as on old Macs, by carriage returns alone.

    Args:
        lines: The text in UTF-8, for instance a file opened in mode `rb`.
        name: The name of the file, for messages.
        delimiter: The string between two columns; None for any run of blanks and tabs.

    Raises:
        ValueError: If a line is not UTF-8, if it has more or fewer columns than the first, or if there
            is no sentence. The message starts with `name:line`.

    Example:
        >>> lines = [b"-DOCSTART- O", b"", b"Ada B-PER", b"left O", b" ", b"Why O"]
        >>> for sentence in read_sentences(lines, "demo.txt"):
        ...     print([row.columns for row in sentence])
        [['Ada', 'B-PER'], ['left', 'O']]
        [['Why', 'O']]
    """
    return (sentence for sentence, _ in _sentences_and_gaps(lines, name, delimiter))


def read_documents(
    lines: Iterable[bytes],
    name: Union[str, PathLike],
    delimiter: Optional[str] = None,
    borders: str = "docstart",
) -> Iterator[List[List[Row]]]:
    """Yields the documents of a column file, each a list of sentences.

    Args:
        lines: As for `read_sentences`.
        name: The name of the file, for messages.
        delimiter: The string between two columns; None for any run of blanks and tabs.
        borders: What lies between two documents: `"docstart"` for a line that starts with `-DOCSTART-`,
            `"blank_lines"` for two or more lines of white space in a row.

    Example:
        >>> lines = [b"-DOCSTART-", b"Ada B-PER", b"", b"Why O", b"-DOCSTART-", b"Lima B-LOC"]
        >>> for document in read_documents(lines, "demo.txt"):
        ...     print([[row.columns[0] for row in sentence] for sentence in document])
        [['Ada'], ['Why']]
        [['Lima']]
    """
    document: List[List[Row]] = []
    for sentence, gap in _sentences_and_gaps(lines, name, delimiter):
        if document and _is_border(gap, borders):
            yield document
            document = []
        document.append(sentence)
    yield document


def _is_border(gap: List[Row], borders: str) -> bool:
    """Whether lines that separate sentences separate documents."""
    if borders == "blank_lines":
        return len(gap) > 1
    return any(is_docstart(row.text) for row in gap)


def is_docstart(text: str) -> bool:
    """Whether a line starts a document of CoNLL-2003."""
    return text.strip(_BLANKS).startswith("-DOCSTART-")


def _sentences_and_gaps(
    lines: Iterable[bytes], name: Union[str, PathLike], delimiter: Optional[str]
) -> Iterator[Tuple[List[Row], List[Row]]]:
    """Yields sentences, each with the lines that separate it from the one before."""
    is_empty = True
    gap: List[Row] = []
    rows = _read_rows(lines, name, delimiter)
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
    lines: Iterable[bytes], name: Union[str, PathLike], delimiter: Optional[str]
) -> Iterator[Row]:
    first: Optional[Row] = None
    for number, text in decoded_lines(lines, name):
        row = Row(number, text, split_columns(text, delimiter))
        if row.columns:
            first = first or row
            if len(row.columns) != len(first.columns) or not all(row.columns):
                raise ValueError(
                    f"{name}:{number}: expected {len(first.columns)} columns as on line "
                    f"{first.number}, none empty, got {len(row.columns)} in {text!r}; correct the "
                    "line, or, if tokens hold blanks, separate columns by tabs and set `delimiter` to "
                    "'\\t'"
                )
        yield row


def split_columns(text: str, delimiter: Optional[str]) -> List[str]:
    """Returns the cells of a line; none if it only separates sentences."""
    stripped = text.strip(_BLANKS)
    if not stripped or is_docstart(stripped):
        return []
    if delimiter is None:
        return re.split(f"[{_BLANKS}]+", stripped)
    return [column.strip(_BLANKS) for column in text.split(delimiter)]
