import pytest

from tagger.data.column_file import read_sentences
from tagger.data.survey.columns import Columns, blank_comments, find_columns, find_delimiter

SPANS = "1 Ada N B-NP B-PER\n2 left V O O\n\n1 Why R O O\n2 not R O O"


def columns(text, **known):
    lines = text.split("\n")
    delimiter = find_delimiter(lines)
    return find_columns(
        list(read_sentences((line.encode() for line in lines), "x.txt", delimiter)),
        "x.txt",
        **known,
    )


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("a O\nb B-X", None),
        ("a\tO\nb\tB-X", None),
        ("New York\tB-X\nis\tO", "\t"),
        ("a,O\nb,B-X", ","),
        (", O\na O", None),
        ("a O\nb\nc O", None),  # a mistake, which the reader names
        ("# a comment of any length\na O\n\n-DOCSTART- -X-", None),
        ("", None),
    ],
)
def test_the_delimiter_is_what_makes_equal_columns(text, delimiter):
    assert find_delimiter(text.split("\n")) == delimiter


@pytest.mark.parametrize(
    ("text", "comments"),
    [
        ("# id 1\na O\n", [0]),
        ("a O\n\n# text = b\n# id 2\nb O", [2, 3]),
        ("# id 5 x=y\na _ _ O\nb _ _ B-X", [0]),  # with as many columns as a token
        ("#NLProc O\nis O", []),  # a token
        ("# O\nis O", []),
        ("# B-Number\n5 B-Unit", []),  # a label of its own
        ("a O\n# O B\nb O", []),  # within a sentence: a mistake, which the reader names
        ("#\na O", []),
    ],
)
def test_comments_become_blank_lines(text, comments):
    lines = text.split("\n")
    kept, found = blank_comments(lines, None)
    assert found == comments
    assert kept == ["" if i in comments else line for i, line in enumerate(lines)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ada B-PER\nleft O", Columns(2, 0, 1)),
        ("B-PER Ada\nO left", Columns(2, 1, 0)),
        (SPANS, Columns(5, 1, 4)),
        ("Ada B-PER x\nleft O y", Columns(3, 0, 1)),  # the last column that spells spans
        ("a X\nb Y\nc X\nd X", Columns(2, 0, 1)),
        ("X a\nY b\nX c\nX d", Columns(2, 1, 0)),
        ("s1 a X\ns1 b Y\n\ns2 c X\ns2 d X", Columns(3, 1, 2)),  # the name of the sentence
        ("1 X\n2 Y\n3 X\n4 X", Columns(2, 0, 1)),  # no other column can hold the tokens
        ("a b", Columns(2, 0, 1)),
    ],
)
def test_columns_are_found_by_what_they_hold(text, expected):
    assert columns(text) == expected


def test_columns_can_be_named():
    assert columns(SPANS, tag_column=3) == Columns(5, 1, 3)
    assert columns(SPANS, tag_column=-2, token_column=-3) == Columns(5, 2, 3)
    assert columns("B-PER Ada\nO O", token_column=0) == Columns(2, 0, 1)


@pytest.mark.parametrize(
    ("text", "known", "message"),
    [
        ("Ada\nleft", {}, "x.txt:1: expected a token and its tag, .* got 'Ada'; put one token"),
        (
            "Ada O",
            {"tag_column": 2},
            "x.txt:1: `--tag-column` is 2, but there are the columns 0 to 1",
        ),
        ("Ada O", {"token_column": 1, "tag_column": -1}, "`--tag-column` are both 1"),
    ],
)
def test_columns_that_are_not_there_are_named(text, known, message):
    with pytest.raises(ValueError, match=message):
        columns(text, **known)
