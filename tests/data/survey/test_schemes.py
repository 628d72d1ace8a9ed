import pytest

from tagger.data.column_file import read_sentences
from tagger.data.survey.schemes import Scheme, are_spans, check_scheme, find_scheme, labels_in
from tagger.spans import ENCODINGS, spans_to_tags

#: Spans that are told apart in every encoding.
SPANS = [("PER", (0, 2)), ("PER", (3, 3)), ("LOC", (5, 6))]


def sentences(*lines):
    return [line.split() for line in lines]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_encoding_of_spans_is_recognised(encoding):
    tags = spans_to_tags(SPANS, 8, encoding)
    assert find_scheme([tags]) == Scheme(encoding)
    assert sorted(labels_in(tags, Scheme(encoding))) == ["LOC", "PER", "PER"]


@pytest.mark.parametrize(
    ("tags", "scheme"),
    [
        (["B-PER I-PER O", "O B-LOC"], Scheme("BIO")),
        (["O B I"], Scheme("BIO")),  # spans without a label
        (["B-PER I-PER O", "O I-LOC"], Scheme("IOB1")),  # BIO with a mistake
        (["I-PER I-PER O", "O I-LOC B-LOC"], Scheme("IOB1")),
        (["B-PER L-PER", "U-PER", "B-PER O"], Scheme("BIOUL")),  # a mistake that no encoding allows
        (["? I-PER O B-LOC"], Scheme("BIO", unknown_tag="?")),
        (["NOUN VERB NOUN", "X"], Scheme()),
        (["NN , NN", ", |"], Scheme()),  # punctuation is no separator
        (["A,B A", "B , C"], Scheme()),
        (["PER O O"], Scheme()),
        (["ORG PER|ORG O", "PER"], Scheme(label_separator="|")),
        (["ORG PER+?ORG _", "?"], Scheme(None, "+", "?", "_")),
        (["NN|VB NN"], Scheme(label_separator="|")),
        (["a|b c|d"], Scheme()),  # labels that never occur apart
    ],
)
def test_the_meaning_of_tags_is_recognised(tags, scheme):
    assert find_scheme(sentences(*tags)) == scheme


def test_a_few_mistakes_among_spans_do_not_make_them_plain_labels():
    assert are_spans({"B-PER": 50, "O": 45, "PRE": 5})
    assert not are_spans({"B-PER": 5, "O": 90, "PRE": 6})
    assert not are_spans({"O": 9})
    assert not are_spans({})


def test_an_illegal_tag_is_named_with_its_line():
    text = b"Ada B-PER\n\nZoe B-PER\nleft L-PER\nnow PRE\n"
    read = list(read_sentences([text], "x.txt"))
    with pytest.raises(ValueError, match=r"^x.txt:1: in 'Ada B-PER', `B-PER` .* no legal BIOUL"):
        check_scheme(Scheme("BIOUL"), read, 1, "x.txt")
    with pytest.raises(ValueError, match=r"^x.txt:4: in 'left L-PER', .* fit none of"):
        check_scheme(Scheme("BIO"), read, 1, "x.txt")
    check_scheme(Scheme(), read, 1, "x.txt")


@pytest.mark.parametrize(
    ("tags", "scheme", "labels"),
    [
        ("NN , O", Scheme(), ["NN", ","]),
        ("I-PER I-PER B-PER ? O", Scheme("IOB1", unknown_tag="?"), ["PER", "PER"]),
        ("A|B _ ?C|A ?", Scheme(None, "|", "?", "_"), ["A", "B", "A"]),
    ],
)
def test_labels_are_those_of_spans_or_of_tokens(tags, scheme, labels):
    assert labels_in(tags.split(), scheme) == labels
