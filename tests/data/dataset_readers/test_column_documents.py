"""The reader of column files, where it keeps documents."""

import logging

import pytest
from allennlp.data.dataset_readers.dataset_reader import WorkerInfo

from tagger.data import ColumnDatasetReader

TEXT = """-DOCSTART- O

Ada I-PER
Bell I-PER

Bell I-PER
left O

-DOCSTART- O

Why O
"""


@pytest.fixture
def read(tmp_path):
    def read(text=TEXT, **arguments):
        path = tmp_path / "data.txt"
        path.write_text(text)
        arguments = {"documents": "docstart", "source_encoding": "IOB1", **arguments}
        return list(ColumnDatasetReader(**arguments).read(str(path)))

    return read


def words(instances):
    return [instance["metadata"]["words"] for instance in instances]


def lengths(instances):
    return [instance["sentence_lengths"].tensor.tolist() for instance in instances]


def test_an_instance_is_a_document(read):
    assert len(read(max_instances=1)) == 1
    instances = read()
    assert words(instances) == [["Ada", "Bell", "Bell", "left"], ["Why"]]
    assert lengths(instances) == [[2, 2], [1]]
    assert instances[0]["word_ids"].tensor.tolist() == [0, 1, 1, 2]


def test_without_documents_instances_are_sentences_with_the_fields_of_before(read):
    instances = read(documents=None)
    assert words(instances) == [["Ada", "Bell"], ["Bell", "left"], ["Why"]]
    assert all(set(instance.fields) == {"tokens", "tags", "metadata"} for instance in instances)


def test_tags_of_one_sentence_do_not_join_those_of_the_next(read):
    assert read()[0]["tags"].labels == ["B-PER", "I-PER", "B-PER", "O"]
    assert read(tag_encoding="BIOUL")[0]["tags"].labels == ["B-PER", "L-PER", "U-PER", "O"]


def test_sets_of_tags_and_of_labels_are_those_of_the_sentences(read):
    text = TEXT.replace("left O", "left ?")
    of_document = read(text, unknown_tag="?")[0]["tags"]
    of_sentences = [instance["tags"] for instance in read(text, unknown_tag="?", documents=None)]
    assert of_document.tag_sets == [*of_sentences[0].tag_sets, *of_sentences[1].tag_sets]
    assert of_document.labels == ["B-PER", "I-PER", "B-PER", "?"]
    text = TEXT.replace("I-PER", "A|B")
    of_document = read(text, label_separator="|", source_encoding=None)[0]["tags"]
    assert of_document.label_sets == [["A", "B"]] * 3 + [[]]


def test_long_documents_are_cut_and_a_log_says_so(read, caplog):
    caplog.set_level(logging.INFO)
    instances = read(max_document_tokens=3)
    assert words(instances) == [["Ada", "Bell"], ["Bell", "left"], ["Why"]]
    assert instances[1]["word_ids"].tensor.tolist() == [0, 1]
    assert "2 documents, of which 1 were cut into pieces of at most 3 tokens" in caplog.text
    assert lengths(read(max_document_tokens=1)) == [[2], [2], [1]]
    assert "2 sentences have more than `max_document_tokens` (1) tokens" in caplog.text


def test_a_long_file_without_a_border_is_warned_of(read, caplog):
    text = TEXT.replace("-DOCSTART- O\n", "")
    read(text)
    assert "nowhere in the file" not in caplog.text
    read(text, max_document_tokens=4)
    assert "`documents` is 'docstart', which is nowhere in the file" in caplog.text


@pytest.mark.parametrize("tag", ["B-", "Ä", "A|?A"])
def test_an_illegal_tag_or_contradicting_labels_are_located(read, tag):
    several = {"label_separator": "|", "source_encoding": None, "unknown_tag": "?"}
    with pytest.raises(ValueError, match=r"data.txt:7: in 'left .*'"):
        read(TEXT.replace("left O", f"left {tag}"), **(several if "|" in tag else {}))


def test_documents_without_tags_are_cut_like_those_of_files():
    reader = ColumnDatasetReader(documents="blank_lines", max_document_tokens=3)
    sentences = [["Ada", "left"], ["Why"], ["Lima", "rose"]]
    instances = reader.document_to_instances(sentences)
    assert lengths(instances) == [[2], [1, 2]]
    alone = reader.text_to_instance(["a"] * 5, ["O"] * 5)
    assert lengths([alone]) == [[5]]
    assert alone["tags"].labels == ["O"] * 5
    instances = ColumnDatasetReader().document_to_instances(sentences)
    assert words(instances) == sentences


def test_sentences_may_know_their_documents(read):
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
def test_workers_share_the_instances(documents, first, second, tmp_path):
    (tmp_path / "data.txt").write_text(TEXT * 2)
    of_workers = []
    for worker in range(2):
        reader = ColumnDatasetReader(documents=documents, source_encoding="IOB1")
        reader._set_worker_info(WorkerInfo(num_workers=2, id=worker))
        of_workers.append(words(reader.read(tmp_path / "data.txt")))
    assert of_workers == [first, second]
