"""Documents in readers: column files with document boundaries, and documents with labels."""

import logging

import pytest
from allennlp.data.dataset_readers.dataset_reader import WorkerInfo

from tagger.data import ColumnDatasetReader
from tagger.data.dataset_readers.document import DocumentDatasetReader

TEXT = """-DOCSTART- O

Ada I-PER
Bell I-PER

Bell I-PER
left O

-DOCSTART- O

Why O
"""


@pytest.fixture
def read(write):
    def read(text=TEXT, **arguments):
        arguments = {"documents": "docstart", "source_encoding": "IOB1", **arguments}
        return list(ColumnDatasetReader(**arguments).read(str(write("data.txt", text))))

    return read


def words(instances):
    return [instance["metadata"]["words"] for instance in instances]


def lengths(instances):
    return [instance["sentence_lengths"].tensor.tolist() for instance in instances]


def test_an_instance_is_a_document_and_tags_do_not_continue_across_sentences(read):
    assert len(read(max_instances=1)) == 1
    instances = read()
    assert words(instances) == [["Ada", "Bell", "Bell", "left"], ["Why"]]
    assert lengths(instances) == [[2, 2], [1]]
    assert instances[0]["word_ids"].tensor.tolist() == [0, 1, 1, 2]
    assert instances[0]["tags"].labels == ["B-PER", "I-PER", "B-PER", "O"]
    assert read(tag_encoding="BIOUL")[0]["tags"].labels == ["B-PER", "L-PER", "U-PER", "O"]
    instances = read(documents=None)
    assert words(instances) == [["Ada", "Bell"], ["Bell", "left"], ["Why"]]
    assert all(set(instance.fields) == {"tokens", "tags", "metadata"} for instance in instances)


def test_tag_sets_and_label_sets_equal_those_of_the_sentences(read):
    text = TEXT.replace("left O", "left ?")
    of_document = read(text, unknown_tag="?")[0]["tags"]
    of_sentences = [instance["tags"] for instance in read(text, unknown_tag="?", documents=None)]
    assert of_document.tag_sets == [*of_sentences[0].tag_sets, *of_sentences[1].tag_sets]
    assert of_document.labels == ["B-PER", "I-PER", "B-PER", "?"]
    text = TEXT.replace("I-PER", "A|B")
    of_document = read(text, label_separator="|", source_encoding=None)[0]["tags"]
    assert of_document.label_sets == [["A", "B"]] * 3 + [[]]


def test_long_documents_are_split_with_a_log_message(read, caplog):
    caplog.set_level(logging.INFO)
    instances = read(max_document_tokens=3)
    assert words(instances) == [["Ada", "Bell"], ["Bell", "left"], ["Why"]]
    assert instances[1]["word_ids"].tensor.tolist() == [0, 1]
    assert "2 documents, of which 1 were cut into pieces of at most 3 tokens" in caplog.text
    assert lengths(read(max_document_tokens=1)) == [[2], [2], [1]]
    assert "2 sentences have more than `max_document_tokens` (1) tokens" in caplog.text


def test_a_long_file_without_boundaries_causes_a_warning(read, caplog):
    text = TEXT.replace("-DOCSTART- O\n", "")
    read(text)
    assert "has no such border" not in caplog.text
    read(text, max_document_tokens=4)
    assert "`documents` is 'docstart', but the file has no such border" in caplog.text


def test_documents_without_tags_are_split_like_those_of_files():
    reader = ColumnDatasetReader(documents="blank_lines", max_document_tokens=3)
    sentences = [["Ada", "left"], ["Why"], ["Lima", "rose"]]
    assert lengths(reader.document_to_instances(sentences)) == [[2], [1, 2]]
    alone = reader.text_to_instance(["a"] * 5, ["O"] * 5)
    assert (lengths([alone]), alone["tags"].labels) == ([[5]], ["O"] * 5)
    assert words(ColumnDatasetReader().document_to_instances(sentences)) == sentences


def test_sentences_can_carry_their_document(read):
    text = "a O\n\nb O\nc O\n\n-DOCSTART- O\n\nd O\n"
    instances = read(text, instances="sentences")
    assert words(instances) == [["a"], ["b", "c"], ["d"]]
    assert all("sentence_lengths" not in instance.fields for instance in instances)
    first, second, third = (instance["tokens"].tokens for instance in instances)
    assert first.document is second.document
    assert [list(map(str, sentence)) for sentence in first.document] == [["a"], ["b", "c"]]
    assert [(each.first, each.last) for each in (first, second, third)] == [(0, 1), (1, 2), (0, 1)]
    reader = ColumnDatasetReader(documents="docstart", instances="sentences")
    new = reader.document_to_instances([["x"], ["y", "z"]])
    assert [instance["tokens"].tokens.first for instance in new] == [0, 1]
    assert len(new[1]["tokens"].tokens.document) == 2
    alone = reader.text_to_instance(["y", "z"])
    assert len(alone["tokens"].tokens.document) == 1
    assert {frozenset(each.fields) for each in (alone, *new)} == {frozenset({"tokens", "metadata"})}


@pytest.mark.parametrize(
    ("documents", "first", "second"),
    [
        ("docstart", [["Ada", "Bell", "Bell", "left"]] * 2, [["Why"]] * 2),
        (None, [["Ada", "Bell"], ["Why"], ["Bell", "left"]],
         [["Bell", "left"], ["Ada", "Bell"], ["Why"]]),
    ],
)  # fmt: skip
def test_workers_share_the_instances(documents, first, second, write):
    path, of_workers = write("data.txt", TEXT * 2), []
    for worker in range(2):
        reader = ColumnDatasetReader(documents=documents, source_encoding="IOB1")
        reader._set_worker_info(WorkerInfo(num_workers=2, id=worker))
        of_workers.append(words(reader.read(path)))
    assert of_workers == [first, second]


def texts_and_labels(instances):
    return [
        (" ".join(token.text for token in each["tokens"]), getattr(each.get("labels"), "labels", None))
        for each in map(dict, instances)
    ]  # fmt: skip


def test_labelled_texts_are_joined_and_truncated_and_may_have_no_label(write):
    full = {"title": "Wheat up", "text": "", "labels": ["wheat", "grain"]}
    path = write("a.jsonl", full, "", {"text": "x"}, {"text": "a b c", "labels": []})
    reader = DocumentDatasetReader(text_keys=["title", "text"], max_tokens=2)
    read = [("Wheat up", ["wheat", "grain"]), ("x", None), ("a b", [])]
    assert texts_and_labels(reader.read(path)) == read


def test_byte_order_marks_are_skipped_and_other_encodings_are_named_with_their_line(write):
    path = write("documents.jsonl", b'\xef\xbb\xbf{"text": "a"}\r\n{"text": "\xe9"}\r\n')
    documents = iter(DocumentDatasetReader().read(path))
    assert texts_and_labels([next(documents)]) == [("a", None)]
    with pytest.raises(ValueError, match=r"documents\.jsonl:2: expected UTF-8, got byte 0xe9"):
        next(documents)
