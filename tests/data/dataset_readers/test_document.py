import json

import pytest
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader

from tagger.data.dataset_readers import DocumentDatasetReader


@pytest.fixture
def write(tmp_path):
    def write_lines(*documents):
        path = tmp_path / "documents.jsonl"
        lines = [line if isinstance(line, str) else json.dumps(line) for line in documents]
        path.write_text("\n".join(lines) + "\n")
        return path

    return write_lines


def words(instance):
    return [token.text for token in instance["tokens"]]


def test_texts_are_joined_and_labels_read(write):
    path = write({"title": "Wheat up", "text": "", "labels": ["wheat", "grain"]}, "", {"text": "x"})
    first, second = DocumentDatasetReader(text_keys=["title", "text"]).read(path)
    assert words(first) == ["Wheat", "up"]
    assert first["labels"].labels == ["wheat", "grain"]
    assert "labels" not in second.fields


def test_long_documents_are_cut_and_one_of_no_label_has_labels(write):
    (instance,) = DocumentDatasetReader(max_tokens=2).read(write({"text": "a b c", "labels": []}))
    assert words(instance) == ["a", "b"]
    assert instance["labels"].labels == []


def test_byte_order_marks_are_skipped_and_other_encodings_are_named_with_their_line(tmp_path):
    path = tmp_path / "documents.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"text": "a"}\r\n{"text": "\xe9"}\r\n')
    documents = iter(DocumentDatasetReader().read(path))
    assert words(next(documents)) == ["a"]
    with pytest.raises(ValueError, match=r"documents\.jsonl:2: expected UTF-8, got byte 0xe9"):
        next(documents)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "documents.jsonl:2: Expecting"),
        ("[1]", "documents.jsonl:2: expected a JSON object with text under one of the keys text"),
        ({"labels": []}, "documents.jsonl:2: expected a JSON object with text"),
        ({"text": 3}, "documents.jsonl:2: expected a JSON object with text"),
        ({"text": " "}, "documents.jsonl:2: a document must have a token"),
        ({"text": "x", "labels": "a"}, "documents.jsonl:2: expected a list of strings under the key"),
    ],
)  # fmt: skip
def test_a_line_that_does_not_fit_is_named(write, line, message):
    with pytest.raises(ValueError, match=message):
        list(DocumentDatasetReader().read(write({"text": "a"}, line)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"text_key": ["title"]}, r"'text_key'.*; did you mean `text_keys`\?"),
        ({"max_tokens": 0}, "`max_tokens` must be at least 1; got 0"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(ConfigurationError, match=message):
        DatasetReader.from_params(Params({"type": "document", **arguments}))
