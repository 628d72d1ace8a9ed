"""A hint for messages about unknown names."""

import difflib
from typing import Iterable


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Returns the end of a message about an unknown name; empty if no known name is similar.

    Example:
        >>> did_you_mean("PRE", ["PER", "LOC"]), did_you_mean("X123", ["PER", "LOC"])
        ('; did you mean `PER`?', '')
    """
    similar = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f"; did you mean `{similar[0]}`?" if similar else ""
