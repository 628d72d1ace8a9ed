"""What separates the columns of a file, which lines are comments, and which column holds what."""

from collections import Counter
from os import PathLike
from typing import List, NamedTuple, Optional, Sequence, Tuple, Union

from tagger.data.column_file import Row, split_columns
from tagger.data.survey.schemes import are_spans

#: What may stand between columns, in the order in which it is tried; None means blanks and tabs.
DELIMITERS = (None, "\t", ",", ";")
#: The largest number of different plain labels, or their largest share of the tokens.
_MOST_LABELS, _LARGEST_SHARE = 60, 0.05


class Columns(NamedTuple):
    """Where tokens and tags are.

    Attributes:
        num: The number of columns.
        token: The column of the tokens, from 0.
        tag: The column of the tags, from 0.
    """

    num: int
    token: int
    tag: int


def find_delimiter(lines: Sequence[str]) -> Optional[str]:
    r"""Returns the string between two columns; None if any run of blanks and tabs separates them.

    It is the first of `DELIMITERS` that gives all lines the same number of columns, two or more. If
    none does, it is the one that comes closest.

    Example:
        >>> find_delimiter(["New York\tB-LOC", "is\tO"]), find_delimiter(["Ada  B-PER", "left\tO"])
        ('\t', None)
    """
    tokens = [line for line in lines if not line.startswith("#") and split_columns(line, None)]

    def share_of_equal(delimiter: Optional[str]) -> float:
        widths = Counter(len(split_columns(line, delimiter)) for line in tokens)
        most_frequent = max((num for width, num in widths.items() if width > 1), default=0)
        return most_frequent / max(len(tokens), 1)

    shares = {}
    for delimiter in DELIMITERS:
        shares[delimiter] = share_of_equal(delimiter)
        if shares[delimiter] == 1:
            break
    return max(shares, key=shares.__getitem__)


def blank_comments(lines: Sequence[str], delimiter: Optional[str]) -> Tuple[List[str], List[int]]:
    """Replaces the comments of a file by blank lines.

    A comment begins with `#`, has several words, and stands where a sentence begins. It is not a
    token if it has another number of columns, or a last cell that no token has and that spells no
    span.

    Args:
        lines: The lines of the file.
        delimiter: The string between two columns.

    Returns:
        The lines, and the indices of those that were comments.

    Example:
        >>> blank_comments(["# id = 1", "#NLProc O", "rocks O"], None)
        (['', '#NLProc O', 'rocks O'], [0])
    """
    rows = [split_columns(line, delimiter) for line in lines]
    tokens = [row for row, line in zip(rows, lines) if row and not line.startswith("#")]
    width = Counter(map(len, tokens)).most_common(1)[0][0] if tokens else 0
    last_cells = {row[-1] for row in tokens}
    prefixes = {cell[:2] for cell in last_cells if cell[1:2] == "-"}
    kept, comments, is_start = list(lines), [], True
    for index, (row, line) in enumerate(zip(rows, lines)):
        is_comment = (
            is_start
            and line.startswith("#")
            and len(line.split()) > 1
            and not (len(row) == width and (row[-1] in last_cells or row[-1][:2] in prefixes))
        )
        if is_comment:
            kept[index] = ""
            comments.append(index)
        is_start = is_comment or not row
    return kept, comments


def find_columns(
    sentences: Sequence[Sequence[Row]],
    name: Union[str, PathLike],
    token_column: Optional[int] = None,
    tag_column: Optional[int] = None,
) -> Columns:
    """Finds the columns of the tokens and of the tags.

    The tags are in the last column that spells spans. Without one they are in the last column that
    has few different cells, as parts of speech do. The tokens are in the first other column that
    neither numbers the tokens nor has the same cell for all tokens of a sentence.

    Args:
        sentences: The lines of each sentence, all with the same number of columns.
        name: The name of the file, for messages.
        token_column: The column of the tokens, if it is known; negative ones count from the end.
        tag_column: The column of the tags, likewise.

    Raises:
        ValueError: If there is a single column, or no such column.
    """
    first = sentences[0][0]
    num = len(first.columns)
    if num < 2:
        raise ValueError(
            f"{name}:{first.number}: expected a token and its tag, separated by blanks or a tab, got "
            f"{first.text[:80]!r}; put one token on each line, and its tag after it"
        )
    for option, column in {"--token-column": token_column, "--tag-column": tag_column}.items():
        if column is not None and not -num <= column < num:
            raise ValueError(
                f"{name}:{first.number}: `{option}` is {column}, but there are the columns 0 to "
                f"{num - 1}: {first.columns}"
            )
    # The cells of each column, sentence by sentence.
    cells = [[[row.columns[i] for row in rows] for rows in sentences] for i in range(num)]
    others = [i for i in range(num) if token_column is None or i != token_column % num]
    tag = _tag_column(cells, others) if tag_column is None else tag_column % num
    if token_column is None:
        others = [i for i in range(num) if i != tag]
        token = next((i for i in others if not _is_about_sentences(cells[i])), others[0])
    else:
        token = token_column % num
    if token == tag:
        raise ValueError(f"{name}: `--token-column` and `--tag-column` are both {tag}")
    return Columns(num, token, tag)


def _tag_column(cells: Sequence[Sequence[Sequence[str]]], candidates: Sequence[int]) -> int:
    kinds = {i: Counter(cell for sentence in cells[i] for cell in sentence) for i in candidates}
    spans = [i for i in candidates if are_spans(kinds[i])]
    if spans:
        return spans[-1]
    most = max(_MOST_LABELS, _LARGEST_SHARE * sum(kinds[candidates[0]].values()))
    # In a short file, tokens are few too.
    most = min(most, max(map(len, kinds.values())) / 2)
    labels = [i for i in candidates if 1 < len(kinds[i]) <= most]
    return labels[-1] if labels else candidates[-1]


def _is_about_sentences(column: Sequence[Sequence[str]]) -> bool:
    """Whether the cells number the tokens of each sentence, or are equal within each sentence."""
    is_equal = all(len(set(cells)) == 1 for cells in column) and any(
        len(cells) > 1 for cells in column
    )
    return is_equal or any(
        all(cells == [str(start + i) for i in range(len(cells))] for cells in column)
        for start in (0, 1)
    )
