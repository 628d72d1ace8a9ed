"""The encodings of spans as tags: BIO, IOB1, BIOUL, BMES, IOBES and IO.

A *tag* is `O`, or a prefix, a hyphen and a label: `B-PER`. The label may contain hyphens. If spans have
no label, their tags are bare prefixes and the label is the empty string. A *span* is
`(label, (start, end))`: `start` and `end` are token positions and `end` is **inclusive**, as in
AllenNLP.

| encoding | first | inside | last | only token of a span                                 |
|----------|-------|--------|------|------------------------------------------------------|
| BIO      | B     | I      | I    | B                                                    |
| IOB1     | I     | I      | I    | I, but the first is B right after a span of its label |
| BIOUL    | B     | I      | L    | U                                                    |
| BMES     | B     | M      | E    | S                                                    |
| IOBES    | B     | I      | E    | S                                                    |
| IO       | the label itself, `PER`: neighbouring tokens of one label are one span ||||

IOBES is BIOUL with other letters.
"""

import contextlib
from functools import lru_cache
from typing import Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

Span = Tuple[str, Tuple[int, int]]


class Rules(NamedTuple):
    """The prefixes of an encoding, by what they mean. Each string is a set, except `places`."""

    #: The prefix of the first, an inside, the last and the only token of a span.
    places: str
    #: Prefixes that always open a span.
    opening: str
    #: Prefixes after which the span may go on at the next token.
    extensible: str
    #: Prefixes that are legal only right after an extensible one of the same label.
    bound: str
    #: Prefixes that are legal only right before a bound one.
    unfinished: str


_RULES: Dict[str, Rules] = {
    "BIO": Rules("BIIB", opening="B", extensible="BI", bound="I", unfinished=""),
    "IOB1": Rules("IIII", opening="B", extensible="BI", bound="B", unfinished=""),
    "BIOUL": Rules("BILU", opening="BU", extensible="BI", bound="IL", unfinished="BI"),
    "BMES": Rules("BMES", opening="BS", extensible="BM", bound="ME", unfinished="BM"),
    "IOBES": Rules("BIES", opening="BS", extensible="BI", bound="IE", unfinished="BI"),
    "IO": Rules("IIII", opening="", extensible="I", bound="", unfinished=""),
}

#: If tags fit several encodings, messages name the first of them.
ENCODINGS = tuple(_RULES)
#: Those in which tags have a prefix, which distinguishes them from plain labels.
PREFIXED = tuple(name for name in ENCODINGS if name != "IO")
#: Those in which a span may begin with a tag that also continues one.
AMBIGUOUS = ("IOB1", "IO")


def rules_of(tag_encoding: str) -> Rules:
    """Returns the rules of an encoding, or raises a `ValueError` if there is none of this name."""
    if tag_encoding not in _RULES:
        raise ValueError(
            f"`tag_encoding` is {tag_encoding!r}, expected one of {', '.join(ENCODINGS)}"
        )
    return _RULES[tag_encoding]


@lru_cache(maxsize=4096)
def split_tag(tag: str, tag_encoding: Optional[str] = None) -> Tuple[str, Optional[str]]:
    """Splits a tag into its prefix, in IO always `I`, and its label.

    Raises:
        ValueError: If `tag` is neither `O` nor a prefix of this encoding with a label.

    Example:
        >>> split_tag("B-PER"), split_tag("I-GPE-COUNTRY"), split_tag("B"), split_tag("O")
        (('B', 'PER'), ('I', 'GPE-COUNTRY'), ('B', ''), ('O', None))
    """
    if tag == "O":
        return "O", None
    if tag_encoding == "IO":
        return "I", tag
    prefix, hyphen, label = tag.partition("-")
    if prefix not in tuple("BILUMES") or bool(hyphen) != bool(label):
        raise ValueError(
            f"`tag` is {tag!r}, expected `O`, or a prefix of {', '.join(PREFIXED)} and a label "
            "(`B-PER`); plain labels, which mark no spans, cannot be split"
        )
    if tag_encoding is not None and prefix not in prefixes_of(tag_encoding):
        raise ValueError(
            f"`tags` holds {tag!r}, which is no {tag_encoding} tag; name the encoding that they have"
        )
    return prefix, label


def prefixes_of(tag_encoding: str) -> str:
    """Returns all prefixes of an encoding, some of them twice."""
    rules = rules_of(tag_encoding)
    return rules.places + rules.opening


def join_tag(prefix: str, label: str, tag_encoding: Optional[str] = None) -> str:
    """Returns the tag of a prefix other than `O` and a label."""
    if tag_encoding == "IO" and label:
        return label
    return f"{prefix}-{label}" if label else prefix


def infer_encoding(tags: Iterable[str]) -> Optional[str]:
    """Returns the encoding that a set of tags belongs to, `None` if they are plain labels.

    The answer is never IOB1, because its tags are also those of BIO, or IO, because its tags are plain
    labels. Tags that fit both BMES and IOBES, without any inside of a span, are BMES.

    Example:
        >>> infer_encoding(["O", "B-PER", "L-PER"]), infer_encoding(["NOUN", "VERB"])
        ('BIOUL', None)
    """
    tags = list(tags)
    for encoding in PREFIXED:
        with contextlib.suppress(ValueError):
            for tag in tags:
                split_tag(tag, encoding)
            return encoding
    return None


def labels_of_tags(tags: Sequence[str]) -> List[Optional[str]]:
    """Returns the label of each tag, `None` for `O`. Plain labels are their own labels.

    Example:
        >>> labels_of_tags(["O", "B-PER", "I-PER"]), labels_of_tags(["NOUN", "VERB"])
        ([None, 'PER', 'PER'], ['NOUN', 'VERB'])
    """
    if infer_encoding(tags) is None:
        return [None if tag == "O" else tag for tag in tags]
    return [split_tag(tag)[1] for tag in tags]


def labels_opened(tags: Sequence[str], tag_encoding: Optional[str]) -> List[Optional[str]]:
    """Returns the label of each tag that always opens a span, `None` for the other tags.

    A legal sequence has one such tag for each span. Without an encoding, plain labels are their own.
    A tag of another encoding, and the encodings in `AMBIGUOUS`, are a `ValueError`.

    Example:
        >>> labels_opened(["O", "B-PER", "I-PER", "L-PER", "U-PER"], "BIOUL")
        [None, 'PER', None, None, 'PER']
    """
    if tag_encoding is None:
        return labels_of_tags(tags)
    refuse_ambiguous(tag_encoding)
    split = [split_tag(tag, tag_encoding) for tag in tags]
    return [label if prefix in rules_of(tag_encoding).opening else None for prefix, label in split]


def refuse_ambiguous(tag_encoding: str) -> None:
    """Raises a `ValueError` if the first tag of a span may also continue one."""
    if tag_encoding in AMBIGUOUS:
        raise ValueError(
            f"`tag_encoding` is {tag_encoding}, where a span's first tag depends on others; use BIO"
        )


def complete_tags(tags: Iterable[str], tag_encoding: str) -> List[str]:
    """Returns `tags`, followed by the other tags that their labels can have, sorted.

    Example:
        >>> complete_tags(["B-PER", "L-PER"], "BIOUL")
        ['B-PER', 'L-PER', 'I-PER', 'O', 'U-PER']
    """
    tags = list(tags)
    labels = {split_tag(tag, tag_encoding)[1] for tag in tags} - {None}
    possible = {
        join_tag(p, label, tag_encoding)
        for p in prefixes_of(tag_encoding)
        for label in labels
        if label is not None
    }
    return tags + sorted(possible.union("O").difference(tags))
