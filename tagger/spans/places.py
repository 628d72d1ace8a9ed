"""Places of entities in a text, in characters, and their union."""

from typing import Iterable, List, Tuple

#: An entity in a text: its label, start and exclusive end, in characters.
Place = Tuple[str, int, int]


def merged(places: Iterable[Place]) -> List[Place]:
    """Returns the union of places, sorted: those that share characters become one.

    A merged place has the label of the longest place in it; of equally long ones that of the first, and
    at the same place the alphabetically first. Places that only touch stay apart. Empty ones are left
    out, since they hold no character.

    Example:
        >>> merged([("LOC", 8, 12), ("ORG", 0, 12), ("PER", 12, 15), ("ORG", 20, 20)])
        [('ORG', 0, 12), ('PER', 12, 15)]
    """
    found: List[Place] = []
    longest = 0
    for label, start, end in sorted(places, key=lambda place: (place[1], place[0])):
        if start >= end:
            continue
        if not found or found[-1][2] <= start:
            found.append((label, start, end))
            longest = end - start
            continue
        last, first, until = found.pop()
        if end - start > longest:
            last, longest = label, end - start
        found.append((last, first, max(until, end)))
    return found
