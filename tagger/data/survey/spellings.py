"""Other spellings of tags than `B-PER`, and how to tell them from plain labels."""

import re
from functools import lru_cache
from itertools import product
from typing import Collection, Dict, Iterable, List, Mapping, Match, Optional, Pattern, Set, Tuple

#: Marks an unknown tag.
UNKNOWN = "?"
#: Possible tags of tokens outside of all spans.
OUTSIDE = ("O", "o", "0", "_", "-", "")
#: Words for it, in lowercase, which count if they are the most frequent tag.
_OUTSIDE_WORDS = ("null", "none", "nil", "other", "out", "outside")
#: The labels of `B-O` and `I-O`, which some tools write for it.
_NONE = ("O", "o")
#: Possible separators between two labels of a token.
SEPARATORS = ("|", "+", ";", ",")
#: Tags spell spans if at least this share of those that are not `O` do; the others are mistakes.
_LEAST_SHARE = 0.5
#: A column with more distinct cells contains words.
_MOST_TAGS = 1_000
_PREFIXES = "BILUMES"
#: What may stand for `-`: any other dash, and the minus sign.
_DASH = "[-\u2010-\u2015\u2212\ufe58\ufe63\uff0d]"


def _spelling(comes_last: bool, prefixes: str, separator: str) -> Tuple[str, Pattern[str]]:
    """Returns a spelling's name, which is its form of `B-PER`, and the pattern of its tags."""
    label = "PER" if prefixes.isupper() else "per"
    parts = [(prefixes[0], rf"(?P<prefix>[{prefixes}])"), (label, r"(?P<label>.+)")]
    names, patterns = zip(*(reversed(parts) if comes_last else parts))
    between = _DASH if separator == "-" else re.escape(separator)
    return separator.join(names), re.compile(between.join(patterns))


STANDARD, WITHOUT_SEPARATOR = "B-PER", ("BPER", "bPER")
#: The patterns of all spellings, named after their forms of `B-PER`; the usual one is first.
SPELLINGS: Dict[str, Pattern[str]] = {
    **dict(
        _spelling(*each) for each in product((False, True), (_PREFIXES, _PREFIXES.lower()), "-_:/.")
    ),
    # BMEWO's W is the S of BMES.
    STANDARD: re.compile(rf"(?P<prefix>[{_PREFIXES}]|W(?={_DASH}))({_DASH}(?P<label>.+))?"),
    "BPER": re.compile(rf"(?P<prefix>[{_PREFIXES}])(?P<label>\w\w.*)"),
    "bPER": re.compile(rf"(?P<prefix>[{_PREFIXES.lower()}])(?P<label>[A-Z]\w.*)"),
}


@lru_cache(maxsize=1 << 16)
def canonical(tag: str, spelling: str) -> str:
    """Converts a tag to the usual spelling; a tag that does not match is returned unchanged.

    Example:
        >>> canonical("PER_B", "PER_B"), canonical("_", "B-PER"), canonical("b-per", "b-per")
        ('B-PER', 'O', 'B-per')
        >>> canonical("W-PER", "B-PER")
        'S-PER'
    """
    if tag in OUTSIDE:
        return "O"
    match = SPELLINGS[spelling].fullmatch(tag)
    if match is None or not match["label"]:
        return tag
    return f"{match['prefix'].upper().replace('W', 'S')}-{match['label']}"


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
    has_outside = len(others) < len(counts)
    most = "" if has_outside else max(others, key=others.__getitem__, default="")
    found: Dict[str, int] = {}
    for name, pattern in SPELLINGS.items():
        if name != STANDARD and len(others) > _MOST_TAGS:
            break
        matches = {tag: match for tag in others if (match := pattern.fullmatch(tag))}
        number = sum(others[tag] for tag in matches)
        if number and number >= _LEAST_SHARE * sum(others.values()):
            is_marked = has_outside or any(match["label"] in _NONE for match in matches.values())
            if name == STANDARD or (is_marked and _are_spans(matches, others, name)):
                found[name] = number
        elif matches and {*others} - {*matches} == {most} and _are_spans(matches, matches, name):
            found[name] = number  # the most frequent tag is outside of all spans, whatever its name
    return max(found, key=found.__getitem__, default=None)


def _are_spans(matches: Mapping[str, Match[str]], others: Collection[str], spelling: str) -> bool:
    """Whether tags begin spans with a B, or have several prefixes for one label, or are all inside."""
    prefixes: Dict[str, Set[str]] = {}
    for match in matches.values():
        prefixes.setdefault(match["label"], set()).add(match["prefix"].upper())
    if spelling in WITHOUT_SEPARATOR:
        begin = all("B" in each or not each & {*"ILME"} for each in prefixes.values())
        several = any(len(each) > 1 for each in prefixes.values())
        return len(matches) == len(others) and begin and several
    are_inside = len(matches) == len(others) and all(each == {"I"} for each in prefixes.values())
    return are_inside or any("B" in each or len(each) > 1 for each in prefixes.values())


def outside_tags(counts: Mapping[str, int], spelling: Optional[str]) -> Tuple[str, ...]:
    """Returns the unusual tags of tokens outside of all spans; none if there are usual ones.

    These are `B-O` and `I-O`, or else the most frequent tag, if it does not spell a span. Without a
    `spelling` of spans, it must be a word such as `NULL`.

    Example:
        >>> outside_tags({"NULL": 9, "B-PER": 2}, "B-PER"), outside_tags({"B-O": 3, "B-X": 1}, "B-PER")
        (('NULL',), ('B-O',))
        >>> outside_tags({"OTHER": 9, "PER": 2}, None), outside_tags({"NN": 9, "VB": 2}, None)
        (('OTHER',), ())
    """
    if any(tag in counts for tag in OUTSIDE):
        return ()
    most = max(counts, key=counts.__getitem__, default="")
    if spelling is None:
        return (most,) if most.lower() in _OUTSIDE_WORDS else ()
    matches = ((tag, SPELLINGS[spelling].fullmatch(tag)) for tag in counts)
    named = tuple(tag for tag, match in matches if match and match["label"] in _NONE)
    is_outside = most != UNKNOWN and not SPELLINGS[spelling].fullmatch(most)
    return named or ((most,) if is_outside else ())


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
