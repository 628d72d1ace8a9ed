"""Refusals: doubts about what cannot be right. Each returns what it saw and what to do, or None."""

import re
from typing import Callable, Dict, List, Optional, Tuple

from tagger.data.doubts.contents import (
    FEWEST,
    MOST,
    PATH,
    TAG_LABEL,
    Contents,
    joins,
    label_counts,
    quoted,
)
from tagger.data.formats.annotated_text import Annotation

#: The share of entities with one error in their offsets.
_NEARLY_ALL = 0.8
_QUOTED = re.compile(r"(['\"])\w.*\1|\[\s*['\"]?\w.*|[^\[]*\w\]", re.DOTALL)
#: Labels with a word as prefix, and those that open or close a bracket around several tokens.
_WORDED = re.compile(r"(begin|beginning|inside)[\W_]+(\S+)", re.IGNORECASE)
_BRACKETS = re.compile(r"\([^()\s*]+\*?|\*\)+|[^()\s*]+\)")
_LOST = re.compile("[?\ufffd]{2,}|_+")
_HANGUL = re.compile("[\uac00-\ud7a3]")


def label_pairs(contents: Contents) -> Optional[str]:
    """Labels are tags with prefixes that were not recognised."""
    found: Dict[str, Dict[str, str]] = {}
    counts = label_counts(contents)
    for label in counts:
        match = TAG_LABEL.fullmatch(label) or _WORDED.fullmatch(label)
        if match:
            found.setdefault(match[2], {})[match[1][0].upper()] = label
    pairs = [own for own in found.values() if "B" in own and {*"IME"} & own.keys()]
    glued = (each for each in counts if len(each) > 2 and each[0] == "B" and each.isupper())
    pairs += [{"B": each, "I": f"I{each[1:]}"} for each in glued if f"I{each[1:]}" in counts]
    if not pairs:
        return None
    others = [each for each in counts if not TAG_LABEL.fullmatch(each)]
    names = " and ".join(map(quoted, [*pairs[0].values()][:2]))
    if others and all(label[1] == "-" for label in pairs[0].values()):
        shown = ", ".join(map(quoted, others[:5]))
        number = f"{len(others)} labels are none"
        return f"the labels {names} are tags, but {number}: {shown}; write `O` there"
    if all(label[1] == "-" for label in pairs[0].values()):
        return (
            f"the labels {names} are tags of words, but an entity has one label, such as `PER`; "
            'a Hugging Face pipeline gives whole entities with `aggregation_strategy="simple"`'
        )
    return f"the labels {names} are tags of one label; spell them `B-PER` and `I-PER`"


def bracketed_labels(contents: Contents) -> Optional[str]:
    """Labels are brackets around several tokens, as `(PER*` and `*)`."""
    found = [label for label in label_counts(contents) if _BRACKETS.fullmatch(label)]
    if not any(each[0] == "(" for each in found) or not any(each[-1] == ")" for each in found):
        return None
    names = " and ".join(map(quoted, sorted(found, reverse=True)[:: max(1, len(found) - 1)]))
    return (
        f"the labels {names} are brackets around several tokens, which are read in CoNLL-2012's columns "
        "alone (`--from conll2012`, `--format conll2012`); write tags such as `B-PER` and `I-PER`"
    )


def quoted_labels(contents: Contents) -> Optional[str]:
    """Labels are in quotation marks, or are written lists or parts of them."""
    counts = label_counts(contents)
    found = [label for label in counts if _QUOTED.fullmatch(label)]
    if not found or len(found) <= MOST * len(counts):
        return None
    return (
        f"{len(found):,} of {len(counts):,} labels are in quotation marks or brackets, such as "
        f"{quoted(found[0])}; write one token and its tag on each line, without these marks"
    )


def lost_letters(contents: Contents) -> Optional[str]:
    """Words are question marks alone, for letters that an encoding lacks, or `_` for words left out."""
    words = [word for each in contents.words for word in each]
    lost = [word for word in words if _LOST.fullmatch(word)]
    if len(lost) < FEWEST or len(lost) <= MOST * len(words):
        return None
    number = f"{len(lost):,} of {len(words):,} words are"
    if lost[0][0] == "_":
        return f"{number} `_`, as in corpora without their words; add these as its README says"
    return (
        f"{number} question marks alone, such as {quoted(lost[0])}; "
        "their letters are lost, so write the file again from where it comes from, as UTF-8"
    )


def texts_are_paths(contents: Contents) -> Optional[str]:
    """The texts are paths or URLs, not texts."""
    found = [each.text.strip() for each in contents.texts if PATH.fullmatch(each.text.strip())]
    if not found or len(found) < MOST * len(contents.texts):
        return None
    return (
        f"{len(found):,} of {len(contents.texts):,} texts are paths or URLs, such as "
        f"{quoted(found[0])}; export the texts themselves"
    )


def shifted_offsets(contents: Contents) -> Optional[str]:
    """All entities begin or end one character early or late."""
    # Korean particles of one letter follow names without a blank.
    every = [
        (text, each)
        for text, each in contents.spaced
        if not _HANGUL.search(text[each.start : each.end])
    ]
    # White space alone does no harm, since entities are trimmed, and abbreviations end with full stops.
    lasts = {text[each.end - 1] for text, each in every}
    is_late = not lasts.isdisjoint(" \n") and not lasts.isdisjoint(",;:.)")

    def ends_late(text: str, each: Annotation) -> bool:
        return is_late and text[each.end - 1] in " \n,;:.)"

    ways: List[Tuple[str, str, Callable[[str, Annotation], bool]]] = [
        ("end one character early", "add 1 to each end, which is exclusive here", _ends_early),
        ("end one character late", "subtract 1 from each end", ends_late),
        (
            "begin one character late",
            "subtract 1 from each start, which counts from 0",
            _begins_late,
        ),
    ]
    for what, remedy, is_so in ways:
        found = [text[each.start : each.end] for text, each in every if is_so(text, each)]
        if len(found) >= FEWEST and len(found) >= _NEARLY_ALL * len(every):
            numbers = f"{len(found):,} of {len(every):,} entities {what}"
            return f"{numbers}, such as {quoted(found[0])}; {remedy}"
    return None


def _ends_early(text: str, each: Annotation) -> bool:
    return joins(text, each.end) and not joins(text, each.end + 1)


def _begins_late(text: str, each: Annotation) -> bool:
    return joins(text, each.start) and not joins(text, each.start - 1)
