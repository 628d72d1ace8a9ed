import pytest

from tagger.data.column_file import read_sentences
from tagger.data.survey.schemes import Scheme, check_scheme, find_scheme, labels_in
from tagger.data.survey.spellings import find_spelling
from tagger.spans import PREFIXED, spans_to_tags

#: Spans that every encoding can tell apart.
SPANS = [("PER", (0, 2)), ("PER", (3, 3)), ("LOC", (5, 6))]


def sentences(*lines):
    return [line.split() for line in lines]


@pytest.mark.parametrize("encoding", PREFIXED)
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
        (["B-PER L-PER", "U-PER", "B-PER O"], Scheme("BIOUL")),  # a mistake in every encoding
        (["? I-PER O B-LOC"], Scheme("BIO", unknown_tag="?")),
        (["NOUN VERB NOUN", "X"], Scheme()),
        (["NN , NN", ", |"], Scheme()),  # punctuation tags are not separators
        (["A,B A", "B , C"], Scheme()),
        (["PER O O"], Scheme("IO")),
        (["PER _ _", "LOC _"], Scheme("IO")),
        (["O COMMA COMMA", "O PERIOD"], Scheme()),  # a mark belongs to one word
        (["_ ?QUESTIONMARK _", "O ,COMMA"], Scheme()),
        (["_ 1:1 1:2", "_ _ 2:1"], Scheme()),  # places
        (["N V O", "N V"], Scheme()),  # `O` is a part of speech
        (["0 1 0"], Scheme()),
        (["O O"], Scheme("BIO")),  # no entity
        (["ORG PER|ORG O", "PER"], Scheme(label_separator="|")),
        (["ORG PER+?ORG _", "?"], Scheme(None, "+", "?", "_")),
        (["NN|VB NN"], Scheme(label_separator="|")),
        (["a|b c|d"], Scheme()),  # labels that never occur alone
    ],
)
def test_the_meaning_of_tags_is_recognised(tags, scheme):
    assert find_scheme(sentences(*tags)) == scheme


def test_spans_with_a_few_mistakes_are_still_spans():
    assert find_spelling({"B-PER": 50, "O": 45, "PRE": 5}) == "B-PER"
    for counts in ({"B-PER": 5, "O": 90, "PRE": 6}, {"O": 9}, {}):
        assert find_spelling(counts) is None


@pytest.mark.parametrize(
    ("tags", "spelling"),
    [
        ("B_PER I_PER O", "B_PER"),
        ("PER-B PER-I O", "PER-B"),
        ("PER_B PER_I O", "PER_B"),
        ("b-PER i-PER o", "b-per"),
        ("per-b per-i o", "per-b"),
        ("B:PER I:PER O", "B:PER"),
        ("PER/B PER/I 0", "PER/B"),
        ("B-PER I-PER _", "B-PER"),
        ("B-PER I-PER -", "B-PER"),
    ],
)
def test_other_spellings_of_tags_are_recognised(tags, spelling):
    scheme = find_scheme([tags.split()])
    assert (scheme.source_encoding, scheme.spelling) == ("BIO", spelling)
    canonical = [scheme.canonical(tag) for tag in tags.split()]
    assert [tag.upper() for tag in canonical] == ["B-PER", "I-PER", "O"]


@pytest.mark.parametrize("tags", ["N-E V-I N-E", "NN_S VB_I O", "SS-E VE-S AB-M"])
def test_parts_of_speech_are_not_mistaken_for_spans(tags):
    assert find_scheme([tags.split()]).source_encoding in (None, "IO")


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
def test_labels_come_from_spans_or_tokens(tags, scheme, labels):
    assert labels_in(tags.split(), scheme) == labels
