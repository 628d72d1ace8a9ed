"""Reads the rows of CSV; a quoted cell may hold delimiters and line ends."""

import csv
from typing import Iterable, Iterator, List, Sequence, Tuple

from tagger.common.inputs import PathOrAddress

#: A line with its number in the file, from 1.
NumberedLine = Tuple[int, str]


def delimiter_of(header: str) -> str:
    """Returns the character that separates the columns of a header: a comma, semicolon or tab."""
    return max(",;\t", key=header.count)


def csv_rows(
    lines: Iterable[NumberedLine],
    delimiter: str,
    name: PathOrAddress = "",
    is_quoted: bool = True,
) -> Iterator[Tuple[List[NumberedLine], List[str]]]:
    r"""Yields the cells of each row, with the lines that the row takes up; blank lines have no cells.

    Args:
        lines: The lines, with or without their ends.
        delimiter: What separates cells.
        name: The name of the file, for errors.
        is_quoted: Whether cells may be quoted; otherwise a quote is like other characters.

    Raises:
        ValueError: If a quote is not in its place, so that rows would run into each other.

    Example:
        >>> list(csv_rows([(1, '"Ada,'), (2, 'left",1')], ","))
        [([(1, '"Ada,'), (2, 'left",1')], ['Ada,\nleft', '1'])]
    """
    read: List[NumberedLine] = []

    def recorded() -> Iterator[str]:
        for each in lines:
            read.append(each)
            yield each[1] if each[1].endswith(("\n", "\r")) else f"{each[1]}\n"

    csv.field_size_limit(1 << 30)  # a cell may hold a whole document
    reader = csv.reader(
        recorded(),
        delimiter=delimiter,
        strict=True,
        quoting=csv.QUOTE_MINIMAL if is_quoted else csv.QUOTE_NONE,
    )
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise ValueError(
                f"{name}:{read[0][0]}: expected CSV, got a quote out of place in the row that starts "
                f"here ({error}); quote the cell as a whole, and double the quotes in it"
            ) from None
        yield read.copy(), cells
        read.clear()


def are_quoted(lines: Sequence[str], delimiter: str) -> bool:
    r"""Whether the cells of a file that begins with these lines may be quoted.

    They may, except between tabs if quotes would then make the rows unequal or are out of place.

    Example:
        >>> are_quoted(["text\tlabel", '"Ada left\t0'], "\t"), are_quoted(['"Ada left"\t0'], "\t")
        (False, True)
    """
    if delimiter != "\t":
        return True
    plain = {line.count("\t") + 1 for line in lines if line.strip()}
    try:
        quoted = {len(cells) for _, cells in csv_rows(enumerate(lines, 1), delimiter) if cells}
    except ValueError:
        quoted = set()
    return len(plain) > 1 or quoted == plain
