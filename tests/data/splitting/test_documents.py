"""How the documents of a file are recognised."""

import pytest

from tagger.data.column_file import read_sentences_and_gaps
from tagger.data.formats import AnnotatedText
from tagger.data.splitting.documents import documents_of_rows, documents_of_texts

SENTENCES = ["a O x", "b O x\nb O x", "c O y", "d O y", "e O y", "f O z"]
LONG = "word " * 200


def of_rows(text, how=None):
    found = list(read_sentences_and_gaps([text.encode()], "all.txt"))
    gaps = [[row.text for row in gap] for _, gap in found]
    return documents_of_rows([rows for rows, _ in found], gaps, "all.txt", (0, 1), how)


def spaced(*separators):
    """Six sentences, each preceded by a separator."""
    return "".join(f"{gap}{rows}\n\n" for gap, rows in zip(separators, SENTENCES))


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("-DOCSTART- O O\n\na O O\n\nb O O\n\n-DOCSTART- O O\nc O O\n", [0, 0, 1]),
        ("a O O\n\n-DOCSTART-\n\nb O O\n", [0, 1]),
        (spaced(*[""] * 6), [0, 0, 1, 1, 1, 2]),
        ("a O 0\nb O 2\n\nc O 4\n\nd O 0\ne O 2\n\nf O 9\n", [0, 0, 1, 1]),
        ("\n\n".join(["a O 1\nb O 2\n\nc O 1\nd O 2\n"] * 5), [n for n in range(5) for _ in "ac"]),
    ],
    ids=["docstart", "docstart in the middle", "names", "offsets", "blank lines"],
)
def test_markers_columns_and_blank_lines_separate_documents(text, numbers):
    assert of_rows(text).of_item == numbers


@pytest.mark.parametrize(
    "text",
    [
        "-DOCSTART- O O\n\na O 1\n\nb O 1\n",  # a single document
        "a O 1\nb O 2\n\nc O 1\nd O 2\n",  # numbers of tokens
        "a O 1\n\nb O 2\n\nc O 3\n",  # numbers of sentences
        "a O x\nb O x\n\nc O y\n\nd O x\n",  # names that come back
        "a O x\n\nb O y\n\nc O x\n\nd O y\n",
        "a O x\nb O y\n\n\nc O x\n\nd O x\n\ne O x\n",  # a stray blank line
        "\n\n".join(["a O 1\nb O 2\n"] * 9),  # a document for each sentence
    ],
)
def test_files_without_document_boundaries_have_no_documents(text):
    assert of_rows(text) is None


def test_comments_separate_documents_where_they_begin_or_change_the_name():
    sentences = [rows for rows, _ in read_sentences_and_gaps([b"a O\n\nb O\n\nc O\n\nd O"], "x")]
    for gaps, numbers in [
        ([["# newdoc"], ["# sent_id = 2"], ["# newdoc"], []], [0, 0, 1, 1]),
        ([["# newdoc id = a"], [], [], ["", "# newdoc id = b"]], [0, 0, 0, 1]),
        ([["# doc_id = 1"], ["# doc_id = 1"], ["# doc_id = 2"], ["# doc_id = 2"]], [0, 0, 1, 1]),
        ([["# corpus:document_id = 1"], [], ["# meta::doc_id = 2"], []], [0, 0, 1, 1]),
        ([["#begin document (a)"], [], ["#begin document (b)"], []], [0, 0, 1, 1]),
        ([["# newdoc id = a"], ["# newdoc"], ["# newdoc id=b"], ["# newdoc: a"]], [0, 1, 2, 0]),
        (
            [
                [],
                ["#begin document (a); part 000"],
                ["# doc_id = 5"],
                ["#begin document (a); part 001"],
            ],
            [0, 1, 2, 1],
        ),
    ]:
        assert documents_of_rows(sentences, gaps, "x").of_item == numbers


def test_only_the_named_separator_counts():
    text = "-DOCSTART- O O\n\na O x\n\nb O y\n\n\n-DOCSTART- O O\nc O x\n"
    assert of_rows(text, "2").of_item == of_rows(text, "-1").of_item == [0, 1, 0]
    assert of_rows(text, "docstart").of_item == of_rows(text, "blank_lines").of_item == [0, 0, 1]
    assert of_rows(text, "none") is of_rows(text, "comments") is None


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("3", "all.txt: `--documents` names column 3, but there are 3 columns"),
        ("doc_id", "all.txt: expected `--documents` to be docstart, .* got 'doc_id'"),
    ],
)
def test_a_separator_that_column_files_do_not_have_is_refused(how, message):
    with pytest.raises(ValueError, match=message):
        of_rows("a O x\n\nb O y\n", how)


def text_of(text="A text.", lengths=None, **properties):
    return AnnotatedText(text, [], None, lengths, "all.jsonl:1", properties)


@pytest.mark.parametrize(
    ("texts", "format", "numbers"),
    [
        ([text_of(doc_id=each) for each in "aaba"], "prodigy", [0, 0, 1, 0]),
        ([text_of(meta={"file": each}) for each in (7, 8, 8)], "prodigy", [0, 1, 1]),
        ([text_of(doc_id=1, group=each) for each in (1, 1, 2)], "prodigy", [0, 0, 1]),
        ([text_of(), text_of()], "brat", [0, 1]),
        ([text_of(lengths=[1, 2]), text_of()], "conllu", [0, 1]),
        ([text_of(LONG), text_of(LONG)], "doccano", [0, 1]),
        ([text_of(), text_of()], "doccano", None),
        ([text_of(doc_id=1), text_of()], "doccano", None),
        ([text_of(LONG)], "doccano", None),
    ],
)
def test_keys_files_sentences_and_lengths_decide_which_texts_are_documents(texts, format, numbers):
    found = documents_of_texts(texts, "all.jsonl", format)
    assert (found and found.of_item) == numbers


def test_a_named_key_must_be_in_each_text():
    texts = [text_of(author="a"), text_of(author="b"), text_of(author="a")]
    assert documents_of_texts(texts, "all.jsonl", how="author").of_item == [0, 1, 0]
    assert documents_of_texts(texts, "all.jsonl", how="texts").of_item == [0, 1, 2]
    assert documents_of_texts(texts, "all.jsonl", "brat", how="none") is None
    with pytest.raises(
        ValueError, match="all.jsonl:1: `--documents` names `year`, which this text"
    ):
        documents_of_texts(texts, "all.jsonl", how="year")
