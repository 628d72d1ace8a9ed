"""Other spellings of tags than `B-PER`, and how to tell them from plain labels."""

import re
from functools import lru_cache
from itertools import product
from typing import Dict, Iterable, List, Mapping, Match, Optional, Pattern, Set, Tuple

#: Marks an unknown tag.
UNKNOWN = "?"
#: Possible tags of tokens outside of all spans.
OUTSIDE = ("O", "o", "0", "_", "-", "")
#: Possible separators between two labels of a token.
SEPARATORS = ("|", "+", ";", ",")
#: Tags spell spans if at least this share of those that are not `O` do; the others are mistakes.
_LEAST_SHARE = 0.5
#: A column with more distinct cells contains words.
_MOST_TAGS = 1_000
_PREFIXES = "BILUMES"


def _spelling(comes_last: bool, prefixes: str, separator: str) -> Tuple[str, Pattern[str]]:
    """Returns a spelling's name, which is its form of `B-PER`, and the pattern of its tags."""
    label = "PER" if prefixes.isupper() else "per"
    parts = [(prefixes[0], rf"(?P<prefix>[{prefixes}])"), (label, r"(?P<label>.+)")]
    names, patterns = zip(*(reversed(parts) if comes_last else parts))
    return separator.join(names), re.compile(separator.join(patterns))


STANDARD = "B-PER"
#: The patterns of all spellings, named after their forms of `B-PER`; the usual one is first.
SPELLINGS: Dict[str, Pattern[str]] = {
    **dict(
        _spelling(*each) for each in product((False, True), (_PREFIXES, _PREFIXES.lower()), "-_:/")
    ),
    STANDARD: re.compile(rf"(?P<prefix>[{_PREFIXES}])(-(?P<label>.+))?"),
}


@lru_cache(maxsize=1 << 16)
def canonical(tag: str, spelling: str) -> str:
    """Converts a tag to the usual spelling; a tag that does not match is returned unchanged.

    Example:
        >>> canonical("PER_B", "PER_B"), canonical("_", "B-PER"), canonical("b-per", "b-per")
        ('B-PER', 'O', 'B-per')
    """
    if tag in OUTSIDE:
        return "O"
    match = SPELLINGS[spelling].fullmatch(tag)
    if spelling == STANDARD or match is None:
        return tag
    return f"{match['prefix'].upper()}-{match['label']}"


def find_spelling(counts: Mapping[str, int]) -> Optional[str]:
    """Returns the spelling of span tags, which may have a few mistakes; None if they are not span tags.

    `counts` maps tags to their numbers. Unusual spellings need tags that begin a span and tokens outside
    of all spans. Parts of speech such as `NN-S` have neither.

    Example:
        >>> find_spelling({"O": 30, "B-PER": 2, "I-PER": 1}), find_spelling({"NOUN": 7, "VERB": 3})
        ('B-PER', None)
        >>> find_spelling({"O": 30, "PER-B": 2, "PER-I": 1})
        'PER-B'
    """
    others = {tag: number for tag, number in counts.items() if tag not in (*OUTSIDE, UNKNOWN)}
    for name, pattern in SPELLINGS.items():
        if name != STANDARD and len(others) > _MOST_TAGS:
            return None
        matches = {tag: match for tag in others if (match := pattern.fullmatch(tag))}
        number = sum(others[tag] for tag in matches)
        if number and number >= _LEAST_SHARE * sum(others.values()):
            has_outside = len(others) < len(counts)
            if name == STANDARD or (has_outside and _have_beginnings(matches.values())):
                return name
    return None


def _have_beginnings(matches: Iterable[Match[str]]) -> bool:
    """Whether tags begin spans with a B, or have several prefixes for one label."""
    prefixes: Dict[str, Set[str]] = {}
    for match in matches:
        prefixes.setdefault(match["label"], set()).add(match["prefix"].upper())
    return any("B" in each or len(each) > 1 for each in prefixes.values())


def separator_of_spans(tags: Iterable[str], spelling: str) -> Optional[str]:
    """Returns the string that joins the tags of overlapping spans; None if no tags are joined.

    Example:
        >>> separator_of_spans(["O", "I-ORG|B-LOC"], "B-PER")
        '|'
        >>> separator_of_spans(["O", "B-ORG|LOC"], "B-PER")
    """
    tags = list(tags)
    for separator in (*SEPARATORS, "#"):
        if any(_joins(tag.split(separator), SPELLINGS[spelling]) for tag in tags):
            return separator
    return None


def _joins(parts: List[str], pattern: Pattern[str]) -> bool:
    return len(parts) > 1 and all(
        part in OUTSIDE or part.startswith(UNKNOWN) or pattern.fullmatch(part) for part in parts
    )
