"""Labels of whole documents, of which some are unknown: null, -1, `?` and unnamed ones."""

import json

import pytest
import torch
from allennlp.data import Vocabulary

from tagger.common.training_counts import count_labels
from tagger.data import DocumentDatasetReader
from tagger.data.dataset_readers.document_labels import parsed_labels

NAMES = ["A", "B", "C"]


def read(tmp_path, *labels, **options):
    path = tmp_path / "documents.jsonl"
    path.write_text("".join(json.dumps({"text": "x", "labels": each}) + "\n" for each in labels))
    return list(DocumentDatasetReader(**options).read(path))


def tensor_of(instance):
    vocab = Vocabulary(non_padded_namespaces=["labels"])
    for name in NAMES:
        vocab.add_token_to_namespace(name, "labels")
    instance["labels"].index(vocab)
    return instance["labels"].as_tensor({}).tolist()


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["A"], [1, 0, 0]),
        ([], [0, 0, 0]),
        *((each, [-1, -1, -1]) for each in (None, -1, "?", ["?"], {}, {"A": None})),
        (["A", "?B"], [1, -1, 0]),
        (["?new"], [0, 0, 0]),
        ({"A": 1, "B": 0, "C": -1}, [1, 0, -1]),
        ({"A": True, "B": False}, [1, 0, -1]),
        ({"A": "?", "B": 1.0, "new": 0}, [-1, 1, -1]),
    ],
    ids=str,
)
def test_labels_are_present_absent_or_unknown(tmp_path, labels, expected):
    assert tensor_of(*read(tmp_path, labels)) == expected


def test_another_sign_or_none(tmp_path):
    assert tensor_of(*read(tmp_path, ["A", "~B"], unknown_tag="~")) == [1, -1, 0]
    (instance,) = read(tmp_path, ["?B"], unknown_tag=None)
    assert instance["labels"].labels == ["?B"]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ("A", r"documents.jsonl:1: expected labels: a list .* or '\?', null or -1 .* got 'A'"),
        (1, "expected labels: .* got 1"),
        ([1], "expected labels: .* got .1"),
        ({"A": 2}, "expected 1, 0, or -1 for unknown for the label 'A'; got 2"),
        ({"A": "yes"}, "for the label 'A'; got 'yes'"),
        (["A", "?A"], "the label 'A' is both known and unknown"),
        (["A", "?"], r"expected labels, or '\?' alone"),
    ],
    ids=str,
)
def test_other_spellings_are_refused_with_their_line(tmp_path, labels, message):
    with pytest.raises(ValueError, match=message):
        read(tmp_path, labels)


def test_documents_with_only_unknown_labels_are_not_counted(tmp_path):
    instances = read(tmp_path, ["A"], None, {"A": 0}, ["?B"], [])
    counts = count_labels(instances)
    assert (counts["labels"], counts.num_items["labels"]) == ({"A": 1}, 4)


def test_without_the_key_there_are_no_gold_labels(tmp_path):
    path = tmp_path / "documents.jsonl"
    path.write_text('{"text": "x"}\n')
    (instance,) = DocumentDatasetReader().read(path)
    assert "labels" not in instance.fields


def test_a_label_that_training_has_not_seen_is_named(tmp_path):
    (instance,) = read(tmp_path, ["A", "new"])
    with pytest.raises(ValueError, match="`labels` holds 'new'"):
        tensor_of(instance)


def test_an_empty_field_knows_nothing(tmp_path):
    (instance,) = read(tmp_path, ["A"])
    instance.fields["labels"] = instance["labels"].empty_field()
    assert tensor_of(instance) == [-1, -1, -1]
    assert parsed_labels(["A"]).absent is None
    assert torch.tensor(tensor_of(instance)).dtype == torch.int64
