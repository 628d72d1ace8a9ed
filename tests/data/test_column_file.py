import io

import pytest

from tagger.data.column_file import Layout, read_documents, read_sentences


def read(text, **kwargs):
    """Reads a text from a file object that ends lines only at line feeds."""
    lines = io.BytesIO(text if isinstance(text, bytes) else text.encode())
    return list(read_sentences(lines, "toy.txt", Layout(**kwargs)))


def columns(text, **kwargs):
    return [[row.columns for row in sentence] for sentence in read(text, **kwargs)]


@pytest.mark.parametrize(
    "text",
    [
        "Ada B-PER\nleft O\n\nWhy O\n",
        "Ada B-PER\nleft O\n\nWhy O",
        "Ada\tB-PER\nleft\tO\n\t\nWhy\tO\n\n\n",
        "\n\n  Ada   B-PER \n left\t O\n \t \n\nWhy O\n \n",
        "\ufeffAda B-PER\r\nleft O\r\n\r\nWhy O\r\n\r\n",
        "Ada B-PER\rleft O\r\rWhy O\r",
        "\ufeffAda B-PER\nleft O\n\n\ufeffWhy O\n",
        "-DOCSTART- -X- O\n\nAda B-PER\nleft O\n\n-DOCSTART-\n\nWhy O\n",
        "-DOCSTART- O\nAda B-PER\nleft O\n-DOCSTART- O\nWhy O\n",
    ],
)
def test_sentences_are_found_with_any_separator(text):
    assert columns(text) == [[["Ada", "B-PER"], ["left", "O"]], [["Why", "O"]]]


def test_rows_know_their_line_and_with_a_delimiter_tokens_may_hold_spaces():
    ((row, other),) = read("-DOCSTART- O\n\nNew York\tB-LOC\r\nis \tO\n\n", delimiter="\t")
    assert (row.number, row.text, row.columns) == (3, "New York\tB-LOC", ["New York", "B-LOC"])
    assert other.columns == ["is", "O"]


@pytest.mark.parametrize("separator", ["\u00a0", "\u3000", "\u2028", "\x85"])
def test_unicode_white_space_does_not_separate_columns(separator):
    token = f"10{separator}000"
    assert columns(f"{token} O\n") == [[[token, "O"]]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "toy.txt: expected a token and its tag on each line, got no sentence at all"),
        (" \n-DOCSTART- O\n\n", "toy.txt: expected a token and its tag"),
        ("Ada O\n\nleft\n", "toy.txt:3: expected 2 columns as on line 1, got 1 in 'left'; correct"),
        ("Ada B-PER\nNew York B-LOC\n", "toy.txt:2: .* got 3 in 'New York B-LOC'; .* set `delimiter`"),
        (b"Ada O\nAndr\xe9 B-PER\n", r"toy.txt:2: expected UTF-8, got byte 0xe9 in b'Andr\\xe9 B-PER'; "
         "convert the file, if it is Latin-1 with `iconv -f latin1 -t utf-8`"),
        (b"Ada O\rAndr\xe9 B-PER\r", "toy.txt:2: expected UTF-8, got byte 0xe9"),
        ("Ada B-PER\n".encode("utf-16"), "toy.txt:1: expected UTF-8, .* `iconv -f utf-16 -t utf-8`"),
    ],
)  # fmt: skip
def test_a_bad_line_is_named(text, message):
    with pytest.raises(ValueError, match=message):
        read(text)


def test_an_empty_column_is_refused():
    message = "toy.txt:2: expected 2 columns as on line 1, got an empty one"
    with pytest.raises(ValueError, match=message):
        read("Ada\tB-PER\n\tO\n", delimiter="\t")


TWO_DOCUMENTS = "-DOCSTART- O\n\nAda O\n\nWhy O\n\n\n\n-DOCSTART- O\n\nLima O\nrose O\n\n"


def documents(text, borders):
    lines = io.BytesIO(text.encode())
    return [
        [[row.columns[0] for row in sentence] for sentence in document]
        for document in read_documents(lines, "toy.txt", borders=borders)
    ]


def test_documents_begin_at_docstart_lines_and_empty_ones_are_left_out():
    for text in (TWO_DOCUMENTS, f"-DOCSTART- O\n\n{TWO_DOCUMENTS}-DOCSTART- O\n"):
        assert documents(text, "docstart") == [[["Ada"], ["Why"]], [["Lima", "rose"]]]


@pytest.mark.parametrize("gap", ["\n\n", "\n \n\t\n", "\r\n\r\n"])
def test_documents_begin_after_two_blank_lines(gap):
    text = f"\n\n\nAda O\n\nWhy O\n{gap}Lima O\n\n\n"
    assert documents(text, "blank_lines") == [[["Ada"], ["Why"]], [["Lima"]]]


def test_blank_lines_do_not_separate_documents_in_files_with_docstart_lines():
    assert documents("Ada O\n\n\nWhy O\n", "docstart") == [[["Ada"], ["Why"]]]


def test_a_token_number_that_is_none_is_refused_with_its_line():
    lines = [b"1 Ada PER", b"2 left O", b"x Lima LOC"]
    with pytest.raises(
        ValueError, match=r"^demo.txt:3: expected the number of a token in column 0"
    ):
        list(read_sentences(lines, "demo.txt", Layout(token=1, tag=2, restarts=0)))
