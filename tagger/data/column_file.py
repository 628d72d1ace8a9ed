"""Column files: a token and its tag on each line, a blank line after each sentence."""

import itertools
import re
from os import PathLike
from typing import Iterable, Iterator, List, NamedTuple, Optional, Union

from tagger.data.decoded_lines import decoded_lines

# Fewer than `str.split` strips: a token may hold a no-break space.
_BLANKS = " \t\r\n\f\v"


class Row(NamedTuple):
    """A line of a column file.

    Attributes:
        number: The number of the line, from 1.
        text: The line without its end.
        columns: Its cells; empty for a line that only separates sentences.
    """

    number: int
    text: str
    columns: List[str]


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
    is_empty = True
    rows = _read_rows(lines, name, delimiter)
    for has_columns, sentence in itertools.groupby(rows, key=lambda row: bool(row.columns)):
        if has_columns:
            is_empty = False
            yield list(sentence)
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
    if not stripped or stripped.startswith("-DOCSTART-"):
        return []
    if delimiter is None:
        return re.split(f"[{_BLANKS}]+", stripped)
    return [column.strip(_BLANKS) for column in text.split(delimiter)]
