import pytest

from tagger.data.reading import Reading
from tagger.data.survey.column_survey import survey_columns
from tagger.data.survey.delimiters import find_table

SPANS = "1 Ada N B-NP B-PER\n2 left V O O\n\n1 Why R O O\n2 not R O O"

DISTINCT = "a b\n" + "".join(f"a{i} b{i}\n" for i in range(99))


@pytest.fixture
def look(tmp_path):
    def look(text, **known):
        path = tmp_path / "x.txt"
        path.write_text(text)
        return survey_columns(path, Reading(**known))

    return look


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("a O\nb B-X", None),
        ("a\tO\nb\tB-X", None),
        ("New York\tB-X\nis\tO", "\t"),
        ("New York\tB-X\nSan Remo\tB-X", "\t"),  # although spaces give three columns
        ("a\tO\nb\tB-X\t\nc\tO", None),
        ("New York\tO\nb\tB-X\t\nc\tO", "\t"),
        ("a,O\nb,B-X", ","),
        ('"a, b",O\nb,B-X', ","),
        ("a;O\n,;O", ";"),
        (", O\na O", None),
        ("a O\nb\nc O", None),  # a mistake, which the reader names
        ("", None),
    ],
)
def test_the_delimiter_is_the_one_that_gives_equal_columns(text, delimiter):
    assert find_table(text.split("\n")).delimiter == delimiter


@pytest.mark.parametrize(
    ("lines", "is_quoted"),
    [
        (['"New York",B-X', "is,O"], True),
        (['",",O', '"""",O'], True),
        (['"\tO', "b c\tO"], False),  # a lone quotation mark is a token
        (['"\tO', "b\tO", '"\tO'], False),
        (["a,O", "b,O"], False),
        (['"a"\t"O"', '""\t""', '"b"\t"O"'], True),
        (["a,b,O", "c,d,O", '",",d,O'], True),
    ],
)
def test_quotation_marks_follow_csv_unless_they_are_tokens(lines, is_quoted):
    assert find_table(lines).is_quoted == is_quoted


@pytest.mark.parametrize(
    ("text", "comments"),
    [
        ("# id 1\na O\n", [1]),
        ("a O\n\n# text = b\n# id 2\nb B-X", [3, 4]),
        ("# id 5 x=y\na _ _ O\nb _ _ B-X", [1]),  # as many columns as a token
        ("#NLProc O\nis O", []),  # a token
        ("# O\nis O", []),
        ("# B-Number\n5 B-Unit", []),  # a token with a label
        ("# #\n5 CD\nof IN\n5 CD", []),  # a token with a part of speech
        ("#\na O", [1]),
        ("#begin document (a); part 0\na O\n\n#end document\nb O", [1, 4]),
    ],
)
def test_comments_are_not_tokens(look, text, comments):
    found = look(text)
    assert list(found.comments) == comments
    tokens = [row.text for rows in found.sentences() for row in rows]
    lines = enumerate(text.split("\n"), start=1)
    assert tokens == [line for number, line in lines if line and number not in comments]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ada B-PER\nleft O", (2, 0, 1)),
        ("B-PER Ada\nO left", (2, 1, 0)),
        (SPANS, (5, 1, 4)),
        ("Ada B-PER x\nleft O y", (3, 0, 1)),  # the column that spells spans
        ("Ada B-PER O\nleft B-LOC B-LOC", (3, 0, 1)),  # the most spans
        ("Ada B-PER B-LOC\nleft O O", (3, 0, 2)),  # the last of equals
        ("Ada B-NP O\nleft B-VP B-PER", (3, 0, 2)),  # chunks come last
        ("a X\nb Y\nc X\nd X", (2, 0, 1)),
        ("X a\nY b\nX c\nX d", (2, 1, 0)),
        ("a N PER\nb V O\nc N O\nd V O", (3, 0, 2)),
        ("a PER N\nb O V\nc O N\nd O V", (3, 0, 1)),  # entities before parts of speech
        ("a N O\nb V O\nc N O\nd V O", (3, 0, 2)),  # a file without an entity
        ("s1 a X\ns1 b Y\n\ns2 c X\ns2 d X", (3, 1, 2)),  # the name of the sentence
        ("1 a X\n2 b Y\n\n3 c X\n4 d X", (3, 1, 2)),  # numbers through the file
        ("a b", (2, 0, 1)),
    ],
)
def test_columns_are_recognised_by_their_contents(look, text, expected):
    layout = look(text).layout
    assert (layout.num_columns, layout.token, layout.tag) == expected


def test_columns_can_be_named(look):
    def columns(text, **known):
        layout = look(text, **known).layout
        return layout.token, layout.tag

    assert columns(SPANS, tag_column=3) == (1, 3)
    assert columns(SPANS, tag_column=-2, token_column=-3) == (2, 3)
    assert columns("B-PER Ada\nO O", token_column=0) == (0, 1)
    assert columns("word outer inner\na B-X O\nb B-X B-Y", tag_column="inner") == (0, 2)


@pytest.mark.parametrize(
    ("text", "known", "message"),
    [
        (
            "Ada\nleft",
            {},
            "x.txt: expected a column file, got one column: there are no tags; write",
        ),
        ("Ada left.\nWhy?\nSo that we know it.", {}, "x.txt: .* running text: there are no tags"),
        ("1 Ada\n2 Lee\n3 met", {}, "got numbers, such as '1', and no column of words"),
        ("Ada met Bob\nBob met Ada\nBob saw Ada", {}, "running text, with equally many words"),
        (
            "Ada O",
            {"tag_column": 2},
            "x.txt:1: `tag_column` .* is 2, but there are the columns 0 to 1",
        ),
        ("Ada O", {"token_column": 1, "tag_column": -1}, "`tag_column` are both 1"),
        (DISTINCT, {}, "expected a column of tags, got none"),
    ],
)
def test_missing_columns_are_named(look, text, known, message):
    with pytest.raises(ValueError, match=message):
        look(text, **known)
