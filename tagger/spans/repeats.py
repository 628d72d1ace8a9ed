"""Other occurrences in a text of the strings in which entities were found, and their masks."""

import re
from typing import Dict, List, Sequence, Tuple

#: An entity in a text: its label, start and exclusive end, in characters.
Place = Tuple[str, int, int]

#: Shorter strings, such as the `M` of a sex or the `5` of an age, occur everywhere with other meanings.
LEAST_CHARACTERS = 3


def with_repeats(text: str, places: Sequence[Place]) -> List[Place]:
    """Adds every other occurrence of the strings that places have, with the same label.

    An occurrence begins and ends at the borders of words, and may have other white space between them.
    If it overlaps other places without lying in one of them, a place that covers all of them replaces
    them. Strings of fewer than `LEAST_CHARACTERS` are left alone. The result is sorted by starts.

    Example:
        >>> with_repeats("Ada met Paul. Ada left; Adam did not.", [("NAME", 0, 3)])
        [('NAME', 0, 3), ('NAME', 14, 17)]
    """
    label_of: Dict[str, str] = {}
    for label, start, end in places:
        label_of.setdefault(" ".join(text[start:end].split()), label)
    masked = list(places)
    for string in sorted(label_of, key=len, reverse=True):
        if len(string) < LEAST_CHARACTERS:
            continue
        words = r"\s+".join(map(re.escape, string.split()))
        for found in re.finditer(rf"(?<!\w){words}(?!\w)", text):
            start, end = found.span()
            touched = [each for each in masked if each[1] < end and start < each[2]]
            if any(each[1] <= start and end <= each[2] for each in touched):
                continue
            masked = [each for each in masked if each not in touched]
            start = min([start, *(each[1] for each in touched)])
            end = max([end, *(each[2] for each in touched)])
            masked.append((label_of[string], start, end))
    return sorted(masked, key=lambda place: place[1:])
