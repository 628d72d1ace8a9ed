"""Other occurrences in a text of the strings in which entities were found, and their masks."""

from collections import deque
from typing import Dict, Iterator, List, NamedTuple, Sequence, Tuple
from unicodedata import normalize

import regex

from tagger.spans.places import Place, merged

#: Shorter strings, such as the `M` of a sex or the `5` of an age, occur everywhere with other meanings.
#: A Chinese character or a Korean syllable counts twice.
LEAST_CHARACTERS = 3

#: Scripts in which nothing separates words, or a name from what belongs to it, such as Korean particles.
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}ー"
#: What an occurrence consists of: a character of these scripts with its marks, a word (with soft hyphens
#: and joiners in it) of others, or another visible character.
_UNIT = regex.compile(
    rf"(?=[{_UNSPACED}])\X|[[\w\p{{M}}]--[{_UNSPACED}]][[\w\p{{M}}\xad\u200d\u2060]--[{_UNSPACED}]]*"
    r"|[^\s\p{Cf}]",
    regex.VERSION1,
)
_DOUBLE = regex.compile(r"[\p{Han}\p{Hangul}]")
_INVISIBLE = regex.compile(r"\p{Cf}+")


class _Unit(NamedTuple):
    """A unit's string as it is compared, and its place."""

    string: str
    start: int
    end: int


def same_string(string: str) -> Tuple[str, ...]:
    """Returns what strings of the same person or thing have in common.

    They may differ in case, white space, invisible characters, and the form in which Unicode spells
    characters, such as a letter with an accent as one character or as two.

    Example:
        >>> same_string("Ada  LU") == same_string("ada lu"), same_string("田中 太郎")
        (True, ('田', '中', '太', '郎'))
    """
    return tuple(unit.string for unit in _units(string))


def with_repeats(text: str, places: Sequence[Place]) -> List[Place]:
    """Adds every other occurrence of the strings that places have, and returns the union, as `merged`.

    An occurrence is the same by `same_string`, and has the same label. It consists of whole words; in
    scripts without blanks between words, it may lie in a longer word. Strings of fewer than
    `LEAST_CHARACTERS` are left alone. Takes linear time.

    Example:
        >>> with_repeats("Ada met Paul. ADA left; Adam did not.", [("NAME", 0, 3)])
        [('NAME', 0, 3), ('NAME', 14, 17)]
    """
    label_of: Dict[Tuple[str, ...], str] = {}
    for label, start, end in sorted(places, key=lambda place: (place[1], place[0])):
        string = normalize("NFC", " ".join(text[start:end].split()))
        if len(string) + len(_DOUBLE.findall(string)) >= LEAST_CHARACTERS:
            label_of.setdefault(same_string(string), label)
    label_of.pop((), None)
    if not label_of:
        return merged(places)
    known = {place[1:] for place in places}
    found = _occurrences(_units(text), label_of)
    return merged([*places, *(each for each in found if each[1:] not in known)])


def _units(text: str) -> Iterator[_Unit]:
    for found in _UNIT.finditer(text):
        string = found[0]
        if not string.isascii():
            string = normalize("NFKC", _INVISIBLE.sub("", string).casefold())
        yield _Unit(normalize("NFKC", string.casefold()), *found.span())


def _occurrences(units: Iterator[_Unit], label_of: Dict[Tuple[str, ...], str]) -> Iterator[Place]:
    """Yields the longest string that ends at each unit, as a place (Aho and Corasick 1975)."""
    after: List[Dict[str, int]] = [{}]
    # Of each node: how many units its longest string has, and that string's label.
    longest: List[Tuple[int, str]] = [(0, "")]
    for string, label in label_of.items():
        node = 0
        for unit in string:
            if unit not in after[node]:
                after[node][unit] = len(after)
                after.append({})
                longest.append((0, ""))
            node = after[node][unit]
        longest[node] = len(string), label
    # The node of the longest proper end of a node's string.
    shorter = [0] * len(after)
    waiting = deque(after[0].values())
    while waiting:
        node = waiting.popleft()
        longest[node] = max(longest[node], longest[shorter[node]], key=lambda each: each[0])
        for unit, child in after[node].items():
            end = shorter[node]
            while end and unit not in after[end]:
                end = shorter[end]
            shorter[child] = after[end].get(unit, 0)
            waiting.append(child)
    starts: List[int] = []
    node = 0
    for found, start, end in units:
        starts.append(start)
        while node and found not in after[node]:
            node = shorter[node]
        node = after[node].get(found, 0)
        length, label = longest[node]
        if length:
            yield label, starts[-length], end
