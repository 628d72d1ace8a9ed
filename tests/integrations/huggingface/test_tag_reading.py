"""Tags of `id2label` are read like those of a file, or refused in one sentence."""

import pytest
from allennlp.common.checks import ConfigurationError

from tagger.integrations.huggingface.tag_reading import MAX_TAGS, names_of_tags, read_tags

BIO = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]


@pytest.mark.parametrize(
    ("names", "tags", "encoding"),
    [
        (BIO, BIO, "BIO"),
        (["O", "B_PER", "I_PER", "B_LOC", "I_LOC"], BIO, "BIO"),
        (["O", "PER-B", "PER-I", "LOC-B", "LOC-I"], BIO, "BIO"),
        (["o", "b-PER", "i-PER", "b-LOC", "i-LOC"], BIO, "BIO"),
        (["B-O", "B-PER", "I-PER", "B-LOC", "I-LOC"], BIO, "BIO"),
        (["O", "I-A", "B-B", "I-B"], ["O", "I-A", "B-B", "I-B"], "IOB1"),
        (["O", "B-A", "I-A", "E-A", "S-A"], ["O", "B-A", "I-A", "E-A", "S-A"], "IOBES"),
        (["NOUN", "VERB", "X"], ["NOUN", "VERB", "X"], None),
    ],
)
def test_tags_are_read_like_those_of_a_file(names, tags, encoding):
    reading = read_tags(names)
    assert (reading.tags, reading.encoding, reading.left_out) == (tags, encoding, [])
    assert reading.rows == list(range(len(names)))


@pytest.mark.parametrize(
    "more", [["X"], ["[PAD]"], ["[CLS]", "[SEP]", "X"], ["<pad>", "<s>", "</s>"], ["PAD"]]
)
def test_tags_of_pieces_are_left_out_and_change_no_encoding(more):
    reading = read_tags([*more[:1], *BIO, *more[1:]])
    assert (reading.tags, reading.encoding, reading.left_out) == (BIO, "BIO", more)
    assert reading.rows == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("names", "tags", "rows"),
    [
        (["O", "PER", "LOC"], BIO, [0, 1, 1, 2, 2]),
        (["PER", "[PAD]", "0"], ["B-PER", "I-PER", "O"], [0, 0, 2]),
        (["O", "I-PER"], ["O", "B-PER", "I-PER"], [0, 1, 1]),
    ],
)
def test_a_label_without_prefixes_becomes_two_tags_with_its_score(names, tags, rows):
    reading = read_tags(names)
    assert (reading.tags, reading.rows, reading.encoding) == (tags, rows, "BIO")
    assert reading.is_io


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["O", "B-PER", "I-PER", "MISC"], r"with a prefix \(O, B-PER, I-PER\) and others without"),
        (["O", "B-PER", "LOC", "MISC", "ORG"], r"with a prefix \(B-PER\), but most have none"),
        (["O", "B-O", "B-PER", "I-PER"], "O, B-O mean the same"),
        (["O", "_", "B-PER", "I-PER"], "O, _ mean the same"),
        (["O", "B-PER|B-LOC", "I-PER", "B-PER"], "joins the tags of overlapping entities"),
        (["O", "B-A", "I-A", "L-A", "S-A"], "mixes the prefixes of several encodings"),
        (["O", "[PAD]"], "expected tags of words in `id2label`; got O, "),
        (["A", "A"], "A, A mean the same"),
    ],
)
def test_other_tags_are_refused_in_one_sentence(names, message):
    with pytest.raises(ConfigurationError, match=message):
        read_tags(names)


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        {0: "O", 2: "A"},
        {0: 1},
        {k: str(k) for k in range(MAX_TAGS + 1)},
        {0: "A" * 999},
    ],
)
def test_what_is_no_list_of_tags_is_refused(value):
    with pytest.raises(ConfigurationError, match="`id2label`"):
        names_of_tags(value)
