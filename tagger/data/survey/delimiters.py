"""Finds the delimiter of a file's columns."""

from collections import Counter
from itertools import dropwhile, groupby
from typing import List, NamedTuple, Optional, Sequence, Tuple

from tagger.data.column_file import Row, fitted_columns, split_rows
from tagger.data.survey.columns import marks_spans
from tagger.data.survey.spellings import find_spelling

#: Possible delimiters, in the order in which they are tried; None means blanks and tabs.
DELIMITERS = (None, "\t", ",", ";", "|", "\\t", "\u00a0")
#: The number of lines to examine.
_MOST_LINES = 20_000
#: More sentences than this, and than this share, that begin or end with an odd line show a rule.
_FEWEST_ENDS, _SHARE_OF_ENDS = 5, 0.5


class Table(NamedTuple):
    """The delimiter of rows (None for blanks and tabs), and whether cells may be quoted.

    A `share` of the rows, the majority, have `num_columns`.
    """

    delimiter: Optional[str]
    is_quoted: bool
    num_columns: int
    share: float


def find_table(lines: Sequence[str], delimiter: Optional[str] = None) -> Table:
    r"""Finds the delimiter of lines without comments.

    It is the `delimiter` if given; otherwise the first of `DELIMITERS` that gives all lines the same
    number of columns, at least two, or else the one that comes closest. If both tabs and blanks would
    do, but differ, tabs win.

    Example:
        >>> find_table(["New York\tB-LOC", "is\tO"]).delimiter, find_table(["a  O", "b  O"]).delimiter
        ('\t', None)
    """
    lines = lines[:_MOST_LINES]
    has_marks = any('"' in line for line in lines)
    best = Table(None, False, 1, -1.0)
    for each in DELIMITERS if delimiter is None else (delimiter,):
        is_done = best.share == 1 and each not in (None, "\t", best.delimiter)
        if is_done and (best.delimiter is not None or _hold_tags(lines, None)):
            break
        may_be_quoted = has_marks and each is not None and len(each) == 1 and each not in "|\u00a0"
        for is_quoted in (False, True) if may_be_quoted else (False,):
            table = _table(lines, each, is_quoted)
            if _is_better(table, best, lines):
                best = table
    return best


def _table(lines: Sequence[str], delimiter: Optional[str], is_quoted: bool) -> Table:
    try:
        rows = [row.columns for row in split_rows(enumerate(lines), delimiter, is_quoted)]
    except ValueError:
        return Table(delimiter, is_quoted, 1, 0.0)
    # Counts of cells per row, without and with empty cells at its end.
    widths = Counter((_trimmed(row), len(row)) for row in rows if row)
    fitting = {
        num: sum(number for (least, most), number in widths.items() if least <= num <= most)
        for num, _ in widths
        if num > 1
    }
    num = max(fitting, key=lambda each: (fitting[each], each), default=1)
    return Table(delimiter, is_quoted, num, fitting.get(num, 0) / max(sum(widths.values()), 1))


def _trimmed(row: Sequence[str]) -> int:
    return max((i + 1 for i, cell in enumerate(row) if cell), default=0)


def _is_better(table: Table, best: Table, lines: Sequence[str]) -> bool:
    if table.share != best.share:
        return table.share > best.share
    if table.is_quoted and best.delimiter is None and table.share == 1 and _all_quoted(lines):
        return True
    if table.is_quoted and not best.is_quoted and table.delimiter == best.delimiter:
        # A quotation mark by itself is a token, but two may be around a delimiter, though not around
        # the ends of lines that have all their columns.
        rows = list(split_rows(enumerate(lines), table.delimiter))
        quoted = split_rows(enumerate(lines), table.delimiter, is_quoted=True)
        joins = any("\n" in row.text for row in quoted)
        return not joins and not any(row.columns.count('"') == 1 for row in rows)
    if table.delimiter is None or best.delimiter is not None or table.share < 1:
        return False
    if table.delimiter != "\t":
        is_tagged = _hold_tags(lines, table.delimiter, table.is_quoted)
        return is_tagged and not _hold_tags(lines, None)
    is_other = table.num_columns != best.num_columns
    return is_other and (_hold_tags(lines, "\t") or not _hold_tags(lines, None))


def _all_quoted(lines: Sequence[str]) -> bool:
    return all(line[:1] == '"' == line[-1:] for line in map(str.strip, lines) if line)


def _hold_tags(lines: Sequence[str], delimiter: Optional[str], is_quoted: bool = False) -> bool:
    """Whether a column spells spans, or has few labels that mark them."""
    rows = split_rows(enumerate(lines), delimiter, is_quoted)
    columns = [*zip(*(row.columns for row in rows if row.columns))]
    return any(
        (find_spelling(counts) is not None and not all(" " in cell for cell in cells))
        or marks_spans(counts)
        for cells in columns
        for counts in [Counter(cells)]
    )


def fitting_rows(lines: Sequence[Tuple[int, str]], table: Table, name: str) -> List[Row]:
    """Returns the rows, except malformed ones, which are reported when the file is read."""
    rows = split_rows(lines, table.delimiter, table.is_quoted, name)
    pairs = [(row, row.columns and fitted_columns(row.columns, table.num_columns)) for row in rows]
    _check_ends(pairs, table.num_columns, name)
    return [row._replace(columns=columns) for row, columns in pairs if columns is not None]


def _check_ends(
    rows: Sequence[Tuple[Row, Optional[List[str]]]], num_columns: int, name: str
) -> None:
    """Rejects a file in which most sentences begin or end with lines of other columns."""
    sentences = [
        list(group) for filled, group in groupby(rows, key=lambda each: each[1] != []) if filled
    ]
    for step, which, meaning in ((1, "first", "text"), (-1, "last", "label")):
        odd = []
        for own in sentences:
            others = list(dropwhile(lambda each: each[1] is None, own[::step]))
            if 0 < len(others) < len(own) and all(columns for _, columns in others):
                odd.append(own[::step][0][0])
        if len(odd) > max(_FEWEST_ENDS, _SHARE_OF_ENDS * len(sentences)):
            raise ValueError(
                f"{name}:{odd[0].number}: the {which} line of {len(odd):,} of {len(sentences):,} "
                f"sentences has other than {num_columns} columns, such as {odd[0].quoted}; if it is the "
                f"{meaning} of the sentence, remove these lines"
            )


def comments_apart(lines: Sequence[str]) -> Tuple[List[str], List[int]]:
    """Returns the lines without possible comments, and the indices of these.

    Possible comments start with `#` where a sentence may begin, also below a first line.

    Example:
        >>> comments_apart(["# id = 1", "#NLProc O", "rocks O", "it O", "# O"])
        (['rocks O', 'it O', '# O'], [0, 1])
    """
    others, comments, is_start = [], [], True
    for index, line in enumerate(lines):
        if is_start and line.startswith("#"):
            comments.append(index)
        else:
            others.append(line)
            is_start = not line.strip() or len(others) == 1  # the first line may name the columns
    return others, comments
