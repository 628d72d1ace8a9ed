"""Finds the column of tokens, and columns that number sentences or tokens."""

from itertools import groupby, pairwise
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

#: The cells of a column, sentence by sentence.
Sentences = Sequence[Sequence[str]]
#: Tokens have at least this share of the distinct cells of other columns.
_LEAST_SHARE = 0.5
#: The share of cells that hold letters in a column of words, or that equal others but for case.
_SHARE_OF_WORDS, _SHARE_ALIKE = 0.5, 0.7


def token_column(cells: Mapping[int, Sentences], others: Sequence[Optional[int]]) -> int:
    """Returns the column of the tokens, given the cells of the columns that may hold them.

    It is the first one that neither numbers the tokens, nor is constant within sentences, nor has few
    different cells, nor holds lemmas: words in lowercase that are elsewhere in other cases. `others` are
    the columns of tags, sentence numbers and spans.

    Example:
        >>> columns = [["0 1", "0 1"], ["ada left", "rome fell"], ["Ada left", "Rome fell"]]
        >>> token_column({i: [each.split() for each in own] for i, own in enumerate(columns)}, [])
        2
    """
    left = [i for i in cells if not _is_about_sentences(cells[i])]
    flat = {i: [cell for sentence in cells[i] for cell in sentence] for i in left}
    words = [i for i in left if i not in others and _are_words(flat[i])] or left
    distinct = {i: len(set(flat[i])) for i in words}
    most = max(distinct.values(), default=0)
    words = [i for i in words if distinct[i] >= _LEAST_SHARE * most]
    words = [
        i for i in words if not any(_are_lemmas(flat[i], flat[each]) for each in words)
    ] or words
    return next(iter(words or cells), 0)


def _are_words(column: Sequence[str]) -> bool:
    with_letters = sum(any(map(str.isalpha, cell)) for cell in column)
    return with_letters >= _SHARE_OF_WORDS * len(column)


def _are_lemmas(column: Sequence[str], words: Sequence[str]) -> bool:
    """Whether a column has the words of another one in lowercase."""
    if any(cell != cell.lower() for cell in column) or all(word == word.lower() for word in words):
        return False
    alike = sum(cell == word.lower() for cell, word in zip(column, words))
    return alike >= _SHARE_ALIKE * len(column)


def _is_about_sentences(column: Sentences) -> bool:
    """Whether the cells number the tokens, or are constant within each sentence."""
    several = [cells for cells in column if len(cells) > 1]
    if len(several) > 1 and all(len(set(cells)) == 1 for cells in column):
        return True
    return bool(several) and all(
        all(map(str.isdecimal, cells)) and all(int(b) - int(a) == 1 for a, b in pairwise(cells))
        for cells in column
    )


def label_column(columns: Mapping[int, Sequence[str]], tag: int) -> Optional[int]:
    """Returns the column with the labels of tags that are prefixes alone, such as `B` and `I`.

    It has one cell beside all `O`, and others beside the prefixes, of which there are few.

    Example:
        >>> label_column({0: ["Ada", "has", "left"], 1: ["B", "O", "O"], 2: ["PER", "_", "_"]}, 1)
        2
    """
    tags = columns[tag]
    if not {*tags} <= {*"BIOESLUM"} or not {*tags} - {"O"}:
        return None
    for i, column in columns.items():
        outside = {cell for cell, own in zip(column, tags) if own == "O"}
        labels = {cell for cell, own in zip(column, tags) if own != "O"}
        if i != tag and len(outside) == 1 and labels.isdisjoint(outside):
            return i
    return None


def sentence_columns(cells: Mapping[int, Sequence[str]]) -> Tuple[Optional[int], Optional[int]]:
    """Finds the columns that number sentences and tokens in a file without blank lines.

    Names or numbers of sentences are equal on several lines in a row, and none comes back, unless
    numbers start again. Numbers of tokens start again with each sentence. If there are several such
    columns, the one with the most sentences counts.

    Example:
        >>> sentence_columns({0: ["d", "d", "d", "d"], 1: ["1", "1", "2", "2"]})
        (1, None)
        >>> sentence_columns({0: ["0", "1", "0", "1", "2"]})
        (None, 0)
    """
    found: Dict[int, int] = {}
    for i, column in cells.items():
        runs = _runs(column)
        if names_runs(column) or (1 < len(runs) <= len(column) / 2 and _count_up(runs)):
            found[i] = len(runs)
    restarts = {i: column.count(column[0]) for i, column in cells.items() if _restart(column)}
    if max(found.values(), default=0) >= max(restarts.values(), default=0):
        return max(found, key=found.__getitem__, default=None), None
    return None, max(restarts, key=restarts.__getitem__)


def names_runs(column: Sequence[str]) -> bool:
    """Whether a column has names that are equal on several lines in a row, and that do not come back."""
    runs = _runs(column)
    return 1 < len(runs) <= len(column) / 2 and len(set(runs)) == len(runs)


def _runs(column: Sequence[str]) -> List[str]:
    return [cell for cell, _ in groupby(cell for cell in column if cell not in ("", "_"))]


def _count_up(cells: Sequence[str]) -> bool:
    """Whether numbers go up by one, and start again at 0 or 1."""
    if not all(map(str.isdecimal, cells)):
        return False
    numbers = [*map(int, cells)]
    steps = pairwise(numbers)
    return all(after - before == 1 or after == numbers[0] <= 1 for before, after in steps)


def _restart(column: Sequence[str]) -> bool:
    """Whether a column numbers the tokens of several sentences."""
    return _count_up(column) and column.count(column[0]) > 1 and len(set(column)) > 2
