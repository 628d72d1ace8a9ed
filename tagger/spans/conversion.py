"""Tags to spans and back, and from one encoding to another."""

from typing import List, Sequence

from tagger.spans.encodings import AMBIGUOUS, Span, join_tag, refuse_ambiguous, rules_of, split_tag


def tags_to_spans(tags: Sequence[str], tag_encoding: str) -> List[Span]:
    """Returns the spans that a sequence of tags spells, in order.

    Illegal sequences are read as conlleval and seqeval read them: a tag that cannot continue the span
    before it opens a new one. So every tag except `O` is part of a span.

    Example:
        >>> tags_to_spans(["B-PER", "I-PER", "O", "B-LOC"], "BIO")
        [('PER', (0, 1)), ('LOC', (3, 3))]
        >>> tags_to_spans(["O", "I-PER", "I-LOC"], "BIO")
        [('PER', (1, 1)), ('LOC', (2, 2))]
    """
    rules = rules_of(tag_encoding)
    spans: List[Span] = []
    extensible_label = None
    for position, tag in enumerate(tags):
        prefix, label = split_tag(tag, tag_encoding)
        if label is not None:
            continues = prefix not in rules.opening and label == extensible_label
            start = spans.pop()[1][0] if continues else position
            spans.append((label, (start, position)))
        extensible_label = label if prefix in rules.extensible else None
    return spans


def spans_to_tags(spans: Sequence[Span], num_tokens: int, tag_encoding: str) -> List[str]:
    """Returns the tags that spell `spans`, which may be in any order. The tags are always legal.

    Raises:
        ValueError: If spans overlap, or a span does not lie within the `num_tokens` tokens; in IO, if
            a span follows another of its label, since their tags would be those of one span.

    Example:
        >>> spans_to_tags([("PER", (0, 1)), ("PER", (2, 2))], 4, "BIOUL")
        ['B-PER', 'L-PER', 'U-PER', 'O']
        >>> spans_to_tags([("PER", (0, 1)), ("PER", (2, 2))], 4, "IOB1")
        ['I-PER', 'I-PER', 'B-PER', 'O']
    """
    first, inside, last, only = list(rules_of(tag_encoding).places)
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
        if (label, start - 1) == (previous_label, previous_end) and tag_encoding in AMBIGUOUS:
            if tag_encoding == "IO":
                raise ValueError(
                    f"`spans` holds {label!r} at ({start}, {end}) right after another; in IO these are "
                    "one span, so use another encoding"
                )
            prefixes = "B" + prefixes[1:]
        tags[start : end + 1] = [join_tag(prefix, label, tag_encoding) for prefix in prefixes]
        previous_label, previous_end = label, end
    return tags


def tags_of_span(
    span: Span, num_tokens: int, tags: Sequence[str], tag_encoding: str
) -> List[List[bool]]:
    """Returns the sets of tags that spell a span, whatever the other tags of its sequence are.

    There is a row for each token of the span, and for the token after it, which must not continue it,
    if the sequence of `num_tokens` has one. A row says for each of `tags` whether the token may have
    it. See `tagger.linear_chain.span_log_probabilities`.
    """
    label, (start, end) = span
    refuse_ambiguous(tag_encoding)
    if not 0 <= start <= end < num_tokens:
        raise ValueError(
            f"`span` is {span}, expected a start and an inclusive end within {num_tokens} tokens"
        )
    spelling = spans_to_tags([(label, (0, end - start))], end - start + 1, tag_encoding)
    allowed = [[tag == spelt for tag in tags] for spelt in spelling]
    if end + 1 < num_tokens:
        bound = rules_of(tag_encoding).bound
        split = (split_tag(tag, tag_encoding) for tag in tags)
        allowed.append([not (prefix in bound and other == label) for prefix, other in split])
    return allowed


def convert_tags(tags: Sequence[str], source: str, target: str) -> List[str]:
    """Spells the spans of `tags` in another encoding; for unknown tags, see `possible_tags`.

    If both encodings are the same, illegal sequences become legal ones with the same spans.
    """
    return spans_to_tags(tags_to_spans(tags, source), len(tags), target)
