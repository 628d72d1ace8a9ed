from itertools import chain, pairwise, product

import pytest
from seqeval.metrics.sequence_labeling import get_entities

from tagger.spans import (
    ENCODINGS,
    PREFIXED,
    convert_tags,
    spans_to_tags,
    tags_of_span,
    tags_to_spans,
)
from tests.spans.sequences import all_sequences, is_legal, tag_set

PAIRS = list(product(ENCODINGS, repeat=2))


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_legal_tags_and_spans_map_one_to_one(encoding):
    legal = [tags for tags in all_sequences(encoding) if is_legal(tags, encoding)]
    for tags in legal:
        assert spans_to_tags(tags_to_spans(tags, encoding), len(tags), encoding) == list(tags)
    spans = {tuple(tags_to_spans(tags, encoding)) for tags in legal if len(tags) == 4}
    assert len(spans) == sum(len(tags) == 4 for tags in legal)


@pytest.mark.parametrize("encoding", PREFIXED)
def test_spans_of_any_sequence_equal_seqevals_after_renaming(encoding):
    renamed = {"BIOUL": {"L": "E", "U": "S"}, "BMES": {"M": "I"}}.get(encoding, {})
    for tags in all_sequences(encoding, max_length=5 if encoding in ("BIO", "IOB1") else 4):
        iobes = [renamed.get(tag[0], tag[0]) + tag[1:] for tag in tags]
        expected = [(label, (start, end)) for label, start, end in get_entities(iobes)]
        assert tags_to_spans(tags, encoding) == expected


def test_spans_may_come_in_any_order():
    spans = [("LOC", (4, 5)), ("PER", (0, 1)), ("LOC", (3, 3))]
    tags = spans_to_tags(spans, 7, "IOB1")
    assert tags == ["I-PER", "I-PER", "O", "I-LOC", "B-LOC", "I-LOC", "O"]
    assert tags_to_spans(tags, "IOB1") == sorted(spans, key=lambda span: span[1])


@pytest.mark.parametrize("encoding", PREFIXED)
def test_labels_may_hold_hyphens_or_be_missing(encoding):
    spans = [("GPE-B-I", (0, 2)), ("", (3, 4)), ("", (5, 5))]
    assert tags_to_spans(spans_to_tags(spans, 6, encoding), encoding) == spans


WITHIN = "expected an inclusive range within 3 tokens"
WITHIN_2 = "expected a start and an inclusive end within 2 tokens"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: tags_to_spans(["O"], "IOB2"),
            "`tag_encoding` is 'IOB2', expected one of BIO, IOB1",
        ),
        (lambda: beside_a_person((1, 2)), r"'LOC' at \(1, 2\), which overlaps 'PER' before it"),
        (lambda: beside_a_person((-1, 0)), WITHIN),
        (lambda: beside_a_person((2, 3)), WITHIN),
        (lambda: beside_a_person((1, 0)), WITHIN),
        (lambda: tags_of_a_person((0, 0), "IOB1"), "`tag_encoding` is IOB1, .* use BIO"),
        (lambda: tags_of_a_person((1, 2), "BIO"), WITHIN_2),
        (lambda: tags_of_a_person((1, 0), "BIO"), WITHIN_2),
    ],
)
def test_unknown_encodings_and_invalid_spans_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def beside_a_person(reach):
    return spans_to_tags([("LOC", reach), ("PER", (0, 1))], 3, "BIO")


def tags_of_a_person(reach, encoding):
    return tags_of_span(("PER", reach), 2, tag_set("BIO"), encoding)


def has_neighbours(spans):
    """Whether a span directly follows another with the same label."""
    return any(a == b and end + 1 == start for (a, (_, end)), (b, (start, _)) in pairwise(spans))


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_conversion_keeps_the_spans_and_gives_legal_tags(source, target):
    # Short sequences of two labels, and longer ones of one label.
    for tags in chain(all_sequences(source, max_length=3), all_sequences(source, labels=["PER"])):
        spans = tags_to_spans(tags, source)
        if target == "IO" and has_neighbours(spans):
            with pytest.raises(ValueError, match="in IO these are one span"):
                convert_tags(tags, source, target)
            continue
        converted = convert_tags(tags, source, target)
        assert tags_to_spans(converted, target) == tags_to_spans(tags, source)
        assert is_legal(converted, target)


@pytest.mark.parametrize("encoding", ["BIO", "BIOUL", "BMES", "IOBES"])
def test_tags_of_a_span_equal_those_of_the_legal_sequences_with_it(encoding):
    names = tag_set(encoding)
    for tags in all_sequences(encoding):
        if not is_legal(tags, encoding):
            continue
        spans = tags_to_spans(tags, encoding)
        for start, end, label in product(range(len(tags)), range(len(tags)), ["PER", "LOC"]):
            if start > end:
                continue
            allowed = tags_of_span((label, (start, end)), len(tags), names, encoding)
            around = tags[start : start + len(allowed)]
            assert len(around) == min(end - start + 2, len(tags) - start)
            spells_it = all(row[names.index(tag)] for row, tag in zip(allowed, around))
            assert spells_it == ((label, (start, end)) in spans)
