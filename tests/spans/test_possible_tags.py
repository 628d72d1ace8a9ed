from itertools import product

import pytest

from tagger.spans import (
    ENCODINGS,
    PREFIXED,
    IllegalTagError,
    check_tags,
    convert_tags,
    possible_tags,
)
from tests.spans.tagged import tag_set

PAIRS = list(product(ENCODINGS, PREFIXED))


def is_readable(tags, encoding):
    try:
        check_tags(tags, encoding)
    except IllegalTagError:
        return False
    return True


def readings_by_sentence(source, target, labels, num_tokens):
    """By sentence with unknown tags, the converted tags that each token has in any reading."""
    readings = {}
    for tags in filter(
        lambda tags: is_readable(tags, source), product(tag_set(source, labels), repeat=num_tokens)
    ):
        converted = convert_tags(tags, source, target)
        for is_known in product([True, False], repeat=num_tokens):
            sentence = tuple(tag if known else "?" for tag, known in zip(tags, is_known))
            sets = readings.setdefault(sentence, [set() for _ in tags])
            for own, tag in zip(sets, converted):
                own.add(tag)
    return readings


@pytest.mark.parametrize(("source", "target"), PAIRS)
@pytest.mark.parametrize(
    ("labels", "num_tokens"), [(["PER", "LOC", "ORG"], 2), (["PER", "LOC"], 3), (["PER"], 4)]
)
def test_a_tag_is_possible_if_a_reading_of_the_sentence_has_it(source, target, labels, num_tokens):
    names = tag_set(target, labels)
    for sentence, expected in readings_by_sentence(source, target, labels, num_tokens).items():
        found = possible_tags(sentence, source, target, "?")
        assert [{tag for tag in names if tags.allows(tag)} for tags in found] == expected, sentence


def test_a_set_knows_its_only_tag_and_its_only_label():
    tags = ["I-PER", "I-LOC", "?", "O"]
    known, in_part, unknown, outside = possible_tags(tags, "IOB1", "BIOUL", unknown_tag="?")
    assert [known.only_tag, known.only_label] == ["U-PER", "PER"]
    assert [in_part.only_tag, in_part.only_label] == [None, "LOC"]
    assert [unknown.only_tag, unknown.only_label] == [None, None]
    assert [outside.only_tag, outside.only_label] == ["O", None]


def test_a_long_sentence_and_tags_without_labels_may_be_unknown():
    first, second = possible_tags(["B", "?"], "BIO", "BIOUL", "?")
    assert first.tags == {"B", "U"}
    assert second.tags == {"O", "L", "U"}
    sets = possible_tags(["B-PER", *["?"] * 4998, "O"], "BIO", "BIOUL", "?")
    assert sets[0].tags == {"B-PER", "U-PER"}
    assert {len(tags.tags) for tags in sets[2:-2]} == {5}


@pytest.mark.parametrize(
    ("tags", "message"),
    [
        ("O ? L-LOC ?", None),
        ("B-PER ? L-LOC", "`L-LOC` at position 2 is no legal BIOUL tag after `B-PER` at position 0, "
         "whatever the unknown tags between are"),
        ("? L-LOC", None),
        ("I-LOC ?", "`I-LOC` at position 0 is no legal BIOUL tag at the start"),
    ],
)  # fmt: skip
def test_a_sentence_without_a_legal_reading_is_refused(tags, message):
    if message is None:
        assert possible_tags(tags.split(), "BIOUL", "BIO", "?")
        return
    with pytest.raises(IllegalTagError, match=message):
        possible_tags(tags.split(), "BIOUL", "BIO", "?")
