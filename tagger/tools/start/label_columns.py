"""Reads the labels of whole texts in a column or under a key."""

import ast
from collections import Counter
from itertools import chain
from typing import Any, Dict, List, Mapping, Optional, Sequence

from tagger.data.survey.spellings import find_spelling

#: The labels of a text, each with whether the text has it, or None if that is unknown; None alone if
#: all are unknown.
Labels = Optional[Dict[str, Optional[bool]]]
_FLAGS: Mapping[Any, Optional[bool]] = {
    **dict.fromkeys(("0", "0.0", "false", "no"), False),
    **dict.fromkeys(("1", "1.0", "true", "yes"), True),
    **dict.fromkeys(("", "?", "-1", "nan", "null", "none"), None),
}
#: How the reader `document` spells an unknown label.
UNKNOWN = "?"
_SEPARATORS = (";", "|", ",")
#: A column with more labels than this, or a larger share of the texts, holds something else.
_MOST_LABELS, _SHARE = 500, 0.5
#: The most words of a label.
_LONGEST = 10


def are_words(values: Sequence[Any]) -> bool:
    """Whether values may be labels although their key does not say so: words, one in most texts."""
    is_list = any(str(each).lstrip().startswith("[") for each in values)
    num_filled = sum(isinstance(each, str) and bool(each.strip()) for each in values)
    are_strings = all(isinstance(each, str) for each in values)
    return are_strings and 2 * num_filled > len(values) and not (is_list and are_numbers(values))


def minus_is_label(values: Sequence[Any]) -> bool:
    """Whether -1 is the opposite of 1, as in sentiments from -1 to 1, and does not mean unknown."""
    found = {str(each).strip() for each in values if str(each).strip() not in ("", "None")}
    return "-1" in found and ({*found} <= {"-1", "0", "1"} or "-2" in found)


def are_numbers(values: Sequence[Any]) -> bool:
    """Whether all values are lists without a letter, which may be places of something in the texts."""
    return not any(map(str.isalpha, "".join(str(cell) for value in values for cell in value or ())))


def spelled(cell: str) -> Optional[List[Any]]:
    """Returns the list that a cell spells in JSON or as Python shows it."""
    if cell.strip()[:1] not in ("[", "("):
        return None
    try:
        value = ast.literal_eval(cell.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return [*value] if isinstance(value, (list, tuple)) else None


def labels_of(values: Sequence[Any]) -> Optional[List[Labels]]:
    """Returns the labels of each text that a key or column has; None if it has something else."""
    signs = ["", UNKNOWN, [UNKNOWN], *([] if minus_is_label(values) else [-1])]
    values = [None if each in signs else each for each in values]
    given = [each for each in values if each is not None]
    if given and all(isinstance(each, dict) for each in given):
        is_flags = all(str(each).lower() in _FLAGS for value in given for each in value.values())
        found: List[Labels] = [
            None if each is None else {label: flag(has) for label, has in each.items()}
            for each in values
        ]
        return found if is_flags and any(given) else None
    if given and all(isinstance(each, str) for each in given):
        lists = [spelled(each) if each.strip() else [] for each in given]
        if all(each is not None for each in lists) and any(lists):
            cells = iter(lists)
            values = [None if each is None else next(cells) for each in values]
            given = lists
        else:
            return _of_strings(values)
    if given and all(isinstance(each, (str, int, bool)) for each in given):
        return _of_strings([None if each is None else str(each) for each in values])
    if not given or not all(isinstance(each, (list, tuple)) for each in values if each is not None):
        return None
    names = [None if each is None else [*map(str, each)] for each in values]
    is_plain = all(isinstance(each, (str, int)) for value in values for each in value or ())
    return _if_labels(names) if is_plain and any(names) else None


def _of_strings(values: Sequence[Optional[str]]) -> Optional[List[Labels]]:
    """Reads a label in each cell, or several if a separator gives fewer different ones."""
    cells = [(each or "").strip() for each in values]
    whole = {*filter(None, cells)}
    for separator in _SEPARATORS:
        parts = [[part.strip() for part in cell.split(separator)] for cell in cells]
        different = {*filter(None, chain(*parts))}
        if len(different) < len(whole) and any(separator in cell for cell in cells):
            return _if_labels([[part for part in each if part] for each in parts])
    return _if_labels([[cell] if cell else None for cell in cells])


def _if_labels(names: Sequence[Optional[List[str]]]) -> Optional[List[Labels]]:
    """Returns the labels of each text, unless there are too many for labels, or just one."""
    counts = Counter(chain(*filter(None, names)))
    most = min(_MOST_LABELS, max(2, _SHARE * len(names)))
    are_tags = "-100" in counts or ("O" in counts and find_spelling(counts) is not None)
    if (
        are_tags
        or not 1 < len(counts) <= most
        or any(len(each.split()) > _LONGEST for each in counts)
    ):
        return None
    return [None if each is None else dict.fromkeys(each, True) for each in names]


def are_flags(values: Sequence[Any]) -> bool:
    """Whether the values are 0 and 1, and perhaps signs for unknown ones."""
    if not all(isinstance(each, (str, int, float, bool, type(None))) for each in values):
        return False
    return {True, False} <= {flag(each) for each in values} and all(
        str(each).strip().lower() in _FLAGS for each in values
    )


def flag(value: Any) -> Optional[bool]:
    """Returns whether 1 or 0 is meant; None if that is unknown."""
    return _FLAGS.get(str(value).strip().lower())
