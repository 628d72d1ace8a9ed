"""Spans and the tags that spell them: BIO, IOB1, BIOUL and BMES.

A *tag* is `O`, or a prefix, a hyphen and a label: `B-PER`. The label may hold hyphens itself; where
spans have no label the tags are bare prefixes and the label is the empty string. A *span* is
`(label, (start, end))`: `start` and `end` are token positions and `end` is **inclusive**, as in
AllenNLP.

| encoding | first | inside | last | only token of a span                                 |
|----------|-------|--------|------|------------------------------------------------------|
| BIO      | B     | I      | I    | B                                                    |
| IOB1     | I     | I      | I    | I, but the first is B right after a span of its label |
| BIOUL    | B     | I      | L    | U                                                    |
| BMES     | B     | M      | E    | S                                                    |
"""

from functools import lru_cache
from itertools import product
from typing import Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple

Span = Tuple[str, Tuple[int, int]]


class _Encoding(NamedTuple):
    """The prefixes of an encoding, each string a set of them but for the first.

    Attributes:
        places: The prefix of the first, an inside, the last and the only token of a span.
        opening: Always open a span.
        extensible: Leave a span that the next token may continue.
        bound: Legal only right after an extensible prefix of the same label.
        unfinished: Legal only right before a bound prefix.
    """

    places: str
    opening: str
    extensible: str
    bound: str
    unfinished: str


_ENCODINGS: Dict[str, _Encoding] = {
    "BIO": _Encoding("BIIB", opening="B", extensible="BI", bound="I", unfinished=""),
    "IOB1": _Encoding("IIII", opening="B", extensible="BI", bound="B", unfinished=""),
    "BIOUL": _Encoding("BILU", opening="BU", extensible="BI", bound="IL", unfinished="BI"),
    "BMES": _Encoding("BMES", opening="BS", extensible="BM", bound="ME", unfinished="BM"),
}

#: Where tags fit several encodings, messages name the first that does.
ENCODINGS = tuple(_ENCODINGS)


class IllegalTagError(ValueError):
    """A tag that its encoding does not allow where it stands.

    Args:
        message: What is wrong and what to do.
        position: The index of the tag in its sequence.
    """

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.position = position


@lru_cache(maxsize=4096)
def split_tag(tag: str) -> Tuple[str, Optional[str]]:
    """Splits a tag into its prefix and its label.

    Raises:
        ValueError: If `tag` is neither `O` nor a prefix of one of the encodings with its label.

    Example:
        >>> split_tag("B-PER"), split_tag("I-GPE-COUNTRY"), split_tag("B"), split_tag("O")
        (('B', 'PER'), ('I', 'GPE-COUNTRY'), ('B', ''), ('O', None))
    """
    if tag == "O":
        return "O", None
    prefix, hyphen, label = tag.partition("-")
    if prefix not in tuple("BILUMES") or bool(hyphen) != bool(label):
        raise ValueError(
            f"`tag` is {tag!r}, expected `O`, or a prefix of {', '.join(ENCODINGS)} and a label "
            "(`B-PER`); plain labels, which mark no spans, cannot be split"
        )
    return prefix, label


def infer_encoding(tags: Iterable[str]) -> Optional[str]:
    """Returns the encoding that a set of tags belongs to, `None` if they are plain labels.

    Never IOB1, whose tags are BIO's too.

    Example:
        >>> infer_encoding(["O", "B-PER", "L-PER"]), infer_encoding(["NOUN", "VERB"])
        ('BIOUL', None)
    """
    tags = list(tags)
    for encoding in ENCODINGS:
        try:
            for tag in tags:
                _split_tag_of(encoding, tag)
        except ValueError:
            continue
        return encoding
    return None


def labels_of_tags(tags: Sequence[str]) -> List[Optional[str]]:
    """Returns the label of each tag, `None` for `O`. Where tags spell no spans, each is its own label.

    Example:
        >>> labels_of_tags(["O", "B-PER", "I-PER"]), labels_of_tags(["NOUN", "VERB"])
        ([None, 'PER', 'PER'], ['NOUN', 'VERB'])
    """
    if infer_encoding(tags) is None:
        return [None if tag == "O" else tag for tag in tags]
    return [split_tag(tag)[1] for tag in tags]


def labels_opened(tags: Sequence[str], encoding: Optional[str]) -> List[Optional[str]]:
    """Returns the label of each tag that opens a span wherever it stands, `None` for the others.

    A legal sequence has one such tag for each span. Where tags spell no spans, each is its own label.

    Args:
        tags: All tags, in the order of their indices.
        encoding: Their encoding, `None` where they spell no spans. Not IOB1, where a span's first tag
            depends on the one before.

    Raises:
        ValueError: If a tag is not one of this encoding, or the encoding is IOB1.

    Example:
        >>> labels_opened(["O", "B-PER", "I-PER", "L-PER", "U-PER"], "BIOUL")
        [None, 'PER', None, None, 'PER']
    """
    if encoding is None:
        return labels_of_tags(tags)
    if encoding == "IOB1":
        raise ValueError("`encoding` is IOB1, where a span's first tag depends on others; use BIO")
    split = [_split_tag_of(encoding, tag) for tag in tags]
    return [label if prefix in _rules(encoding).opening else None for prefix, label in split]


def complete_tags(tags: Iterable[str], encoding: str) -> List[str]:
    """Returns `tags` and after them, sorted, the others that their labels can have in this encoding.

    Raises:
        ValueError: If a tag is not one of this encoding.

    Example:
        >>> complete_tags(["B-PER", "L-PER"], "BIOUL")
        ['B-PER', 'L-PER', 'I-PER', 'O', 'U-PER']
    """
    rules = _rules(encoding)
    tags = list(tags)
    labels = {_split_tag_of(encoding, tag)[1] for tag in tags}
    possible = {
        _join_tag(prefix, label)
        for prefix in rules.places + rules.opening
        for label in labels
        if label is not None
    }
    return tags + sorted(possible.union("O").difference(tags))


def tags_to_spans(tags: Sequence[str], encoding: str) -> List[Span]:
    """Returns the spans that a sequence of tags spells, in order.

    Sequences that the encoding does not allow are read as conlleval and seqeval read them: a tag
    that cannot continue the span before it opens one. So every tag but `O` counts.

    Raises:
        ValueError: If a tag is not one of this encoding.

    Example:
        >>> tags_to_spans(["B-PER", "I-PER", "O", "B-LOC"], "BIO")
        [('PER', (0, 1)), ('LOC', (3, 3))]
        >>> tags_to_spans(["O", "I-PER", "I-LOC"], "BIO")
        [('PER', (1, 1)), ('LOC', (2, 2))]
    """
    rules = _rules(encoding)
    spans: List[Span] = []
    extensible_label = None
    for position, tag in enumerate(tags):
        prefix, label = _split_tag_of(encoding, tag)
        if label is not None:
            continues = prefix not in rules.opening and label == extensible_label
            start = spans.pop()[1][0] if continues else position
            spans.append((label, (start, position)))
        extensible_label = label if prefix in rules.extensible else None
    return spans


def spans_to_tags(spans: Sequence[Span], num_tokens: int, encoding: str) -> List[str]:
    """Returns the tags that spell `spans`, given in any order; they are always legal.

    Raises:
        ValueError: If spans overlap, or one does not lie within the `num_tokens` tokens.

    Example:
        >>> spans_to_tags([("PER", (0, 1)), ("PER", (2, 2))], 4, "BIOUL")
        ['B-PER', 'L-PER', 'U-PER', 'O']
        >>> spans_to_tags([("PER", (0, 1)), ("PER", (2, 2))], 4, "IOB1")
        ['I-PER', 'I-PER', 'B-PER', 'O']
    """
    first, inside, last, only = list(_rules(encoding).places)
    tags = ["O"] * num_tokens
    previous_label, previous_end = "", -2  # not beside the first token
    for label, (start, end) in sorted(spans, key=lambda span: span[1]):
        if not 0 <= start <= end < num_tokens:
            raise ValueError(
                f"`spans` holds {label!r} at ({start}, {end}), expected an inclusive range within "
                f"{num_tokens} tokens"
            )
        if start <= previous_end:
            raise ValueError(
                f"`spans` holds {label!r} at ({start}, {end}), which overlaps {previous_label!r} "
                "before it; a token has one tag, so leave one of the two out"
            )
        prefixes = first + inside * (end - start - 1) + last if end > start else only
        if encoding == "IOB1" and (label, start - 1) == (previous_label, previous_end):
            prefixes = "B" + prefixes[1:]
        tags[start : end + 1] = [_join_tag(prefix, label) for prefix in prefixes]
        previous_label, previous_end = label, end
    return tags


def tags_of_span(
    span: Span, num_tokens: int, tags: Sequence[str], encoding: str
) -> List[List[bool]]:
    """Says which tags spell a span, whatever the others of its sequence are.

    The probability that a tagger gives to the span is that of these tags: see
    `tagger.linear_chain.span_log_probabilities`.

    Args:
        span: The span.
        num_tokens: How many tokens its sequence has.
        tags: All tags, in the order of their indices.
        encoding: Their encoding. Not IOB1, where the first tag depends on the one before.

    Returns:
        For each token from the first of the span to the one after its last, if there is one, whether
        it may have each tag. The token after it must not go on with the span.

    Raises:
        ValueError: If the span does not fit the sequence, or the encoding is IOB1.

    Example:
        >>> tags_of_span(("X", (1, 1)), 3, ["O", "B-X", "I-X"], "BIO")
        [[False, True, False], [True, True, False]]
    """
    label, (start, end) = span
    if encoding == "IOB1":
        raise ValueError("`encoding` is IOB1, where a span's first tag depends on others; use BIO")
    if not 0 <= start <= end < num_tokens:
        raise ValueError(
            f"`span` is {span}, expected a start and an inclusive end within {num_tokens} tokens"
        )
    split = [_split_tag_of(encoding, tag) for tag in tags]
    spelling = spans_to_tags([(label, (0, end - start))], end - start + 1, encoding)
    allowed = [[tag == spelt for tag in tags] for spelt in spelling]
    if end + 1 < num_tokens:
        bound = _rules(encoding).bound
        allowed.append([not (prefix in bound and other == label) for prefix, other in split])
    return allowed


def convert_tags(
    tags: Sequence[str], source: str, target: str, unknown_tag: Optional[str] = None
) -> List[str]:
    """Spells the spans of `tags` in another encoding.

    From an encoding to itself, illegal sequences become legal ones of the same spans. A token of
    unknown tag stays unknown, and a neighbour becomes unknown if its new tag depends on what the
    unknown one is: `B-PER ?` in BIO may be a whole name, `U-PER` in BIOUL, or open one, `B-PER`.

    Args:
        tags: The tags of one sentence.
        source: The encoding of `tags`, one of `ENCODINGS`.
        target: The encoding to return.
        unknown_tag: The string that stands for an unknown tag; None where there is none.

    Raises:
        ValueError: If a tag is not one of encoding `source`.

    Example:
        >>> convert_tags(["I-PER", "I-PER", "B-PER", "O"], "IOB1", "BIO")
        ['B-PER', 'I-PER', 'B-PER', 'O']
        >>> convert_tags(["B-PER", "?", "O", "B-LOC"], "BIO", "BIOUL", unknown_tag="?")
        ['?', '?', 'O', 'U-LOC']
    """
    if unknown_tag is None or unknown_tag not in tags:
        return spans_to_tags(tags_to_spans(tags, source), len(tags), target)
    # In every encoding a tag depends on its own token and the two beside it; the edges act as `O`.
    padded = ["O", *tags, "O"]
    return [
        _convert_middle_tag(padded[i : i + 3], source, target, unknown_tag)
        for i in range(len(tags))
    ]


def check_tags(tags: Sequence[str], encoding: str, unknown_tag: Optional[str] = None) -> None:
    """Raises an error unless `tags` are a legal sequence of this encoding.

    Under IOB1 a `B-` is legal anywhere: where `I-` would do it names the same span, and
    CoNLL-2003's training file has two of these. `convert_tags` puts them right.

    Args:
        tags: The tags of one sentence.
        encoding: One of `ENCODINGS`.
        unknown_tag: The string that stands for an unknown tag, which is legal anywhere.

    Raises:
        IllegalTagError: A `ValueError` that names the tag and an encoding that would fit.

    Example:
        >>> check_tags(["O", "I-PER"], "BIO")
        Traceback (most recent call last):
        tagger.label_encoding.IllegalTagError: `I-PER` at position 1 is no legal BIO tag ...
    """
    position = _first_illegal(tags, encoding, unknown_tag)
    if position is None:
        return
    remedies = (
        f"these tags are legal {other}; set `source_encoding` to '{other}'"
        for other in ENCODINGS
        if _first_illegal(tags, other, unknown_tag) is None
    )
    remedy = next(
        remedies,
        f"these tags fit none of {', '.join(ENCODINGS)}; correct them, or set `source_encoding` to "
        "null if they are plain labels that mark no spans",
    )
    if position == len(tags):
        position, place = position - 1, "at the end"
    else:
        place = f"after `{tags[position - 1]}`" if position else "at the start"
    raise IllegalTagError(
        f"`{tags[position]}` at position {position} is no legal {encoding} tag {place}; {remedy}",
        position,
    )


def allowed_transitions(encoding: str, tags: Mapping[int, str]) -> List[Tuple[int, int]]:
    """Returns the pairs of tags of which the second may follow the first.

    Equal to AllenNLP's function of this name, except that BMES may have an `O` tag, which
    AllenNLP lets follow nothing.

    Args:
        encoding: One of `ENCODINGS`.
        tags: The tag of each index 0 ... K - 1, such as a vocabulary's index-to-token mapping.

    Returns:
        Pairs `(from, to)` of indices. Index K is the start of a sentence, K + 1 its end.

    Raises:
        ValueError: If a tag is not one of this encoding.

    Example:
        >>> allowed_transitions("BIO", {0: "O", 1: "I-PER"})
        [(0, 0), (0, 3), (1, 0), (1, 1), (1, 3), (2, 0)]
    """
    start, end = len(tags), len(tags) + 1
    # A sentence starts as after an `O` and ends as before one.
    before, after = {**tags, start: "O"}, {**tags, end: "O"}
    return [
        (i, j)
        for i, j in product(before, after)
        if (i, j) != (start, end) and _may_follow(encoding, before[i], after[j])
    ]


def _rules(encoding: str) -> _Encoding:
    if encoding not in _ENCODINGS:
        raise ValueError(f"`encoding` is {encoding!r}, expected one of {', '.join(ENCODINGS)}")
    return _ENCODINGS[encoding]


@lru_cache(maxsize=4096)
def _split_tag_of(encoding: str, tag: str) -> Tuple[str, Optional[str]]:
    rules = _rules(encoding)
    prefix, label = split_tag(tag)
    if prefix not in "O" + rules.places + rules.opening:
        raise ValueError(
            f"`tags` holds {tag!r}, which is no {encoding} tag; name the encoding that they have"
        )
    return prefix, label


def _join_tag(prefix: str, label: str) -> str:
    return f"{prefix}-{label}" if label else prefix


def _may_follow(encoding: str, before: str, after: str) -> bool:
    rules = _rules(encoding)
    before_prefix, before_label = _split_tag_of(encoding, before)
    after_prefix, after_label = _split_tag_of(encoding, after)
    if after_prefix in rules.bound:
        return before_prefix in rules.extensible and before_label == after_label
    return before_prefix not in rules.unfinished


def _first_illegal(tags: Sequence[str], encoding: str, unknown_tag: Optional[str]) -> Optional[int]:
    """Returns the position of the first illegal tag, None if there is none.

    It is `len(tags)` where the sentence must not end yet.
    """
    previous = "O"
    for position, tag in enumerate([*tags, "O"]):
        if tag != unknown_tag:
            try:
                _split_tag_of(encoding, tag)
            except ValueError:
                return position
            is_readable = encoding == "IOB1" or previous == unknown_tag
            if not is_readable and not _may_follow(encoding, previous, tag):
                return position
        previous = tag
    return None


def _convert_middle_tag(window: Sequence[str], source: str, target: str, unknown_tag: str) -> str:
    """Converts the middle of three tags, if all legal readings of unknown neighbours agree."""
    before, tag, after = window
    if tag in ("O", unknown_tag):
        return tag
    label = split_tag(tag)[1] or ""
    rules = _rules(source)
    # A span of another label beside it says as much as `O`.
    known = ["O", *(_join_tag(prefix, label) for prefix in set(rules.places + rules.opening))]
    befores, afters = [before], [after]
    if before == unknown_tag:
        befores = [other for other in known if _may_follow(source, other, tag)]
    if after == unknown_tag:
        afters = [other for other in known if _may_follow(source, tag, other)]
    readings = {
        spans_to_tags(tags_to_spans([b, tag, a], source), 3, target)[1]
        for b, a in product(befores, afters)
    }
    return readings.pop() if len(readings) == 1 else unknown_tag
