"""Weights of instances come from a column, a key or a list of files."""

import json

import pytest
from allennlp.common.checks import ConfigurationError

from tagger.data import (
    ColumnDatasetReader,
    DocumentDatasetReader,
    NumericSequencesDatasetReader,
)


def weights_of(reader, path):
    return [each["weights"].tensor.tolist() for each in reader.read(str(path))]


COLUMNS = "-DOCSTART- 1 O\n\nAda 2 B-PER\nleft 2 O\n\nin 0.5 O\nRome 0.5 B-LOC\n"


@pytest.fixture
def columns(tmp_path):
    path = tmp_path / "a.conll"
    path.write_text(COLUMNS)
    return path


def test_a_column_weighs_sentences_and_those_of_documents(columns):
    assert weights_of(ColumnDatasetReader(weight=1), columns) == [[2], [0.5]]
    reader = ColumnDatasetReader(weight=1, tag_column=2, documents="docstart")
    assert weights_of(reader, columns) == [[2, 0.5]]
    (document,) = reader.document_to_instances([["Ada"], ["left"]])
    assert "weights" not in document.fields
    assert all("weights" not in each.fields for each in ColumnDatasetReader().read(str(columns)))


def test_a_column_may_be_named_by_the_header(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("token,weight,tag\nAda,3,B-PER\nleft,3.0,O\n\nin,,O\nRome,,B-LOC\n")
    reader = ColumnDatasetReader(token_column="token", tag_column="tag", weight="weight")
    assert weights_of(reader, path) == [[3], [1]]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("left 2", "left 3", "a.conll:4: expected the weight of the rows before, 2; got '3'"),
        ("0.5", "-0.5", "a.conll:6: expected a weight, a number from 0 to 1e\\+12; got '-0.5'"),
        ("0.5", "much", "a.conll:6: expected a weight, .*; got 'much'"),
        ("0.5", "inf", "a.conll:6: expected a weight, .*; got 'inf'"),
        ("0.5", "4e38", "a.conll:6: expected a weight, .*; got '4e38'"),
    ],
)
def test_other_columns_are_refused(columns, old, new, message):
    columns.write_text(COLUMNS.replace(old, new))
    with pytest.raises(ValueError, match=message):
        list(ColumnDatasetReader(weight=1, tag_column=2).read(str(columns)))


def test_a_key_weighs_texts_and_documents(tmp_path):
    path = tmp_path / "a.jsonl"
    texts = [
        {"text": "Ada left", "label": [[0, 3, "PER"]], "weight": 2.5},
        {"text": "in Rome", "label": [[3, 7, "LOC"]]},
    ]
    path.write_text("".join(json.dumps(each) + "\n" for each in texts))
    assert weights_of(ColumnDatasetReader(weight="weight"), path) == [[2.5], [1]]
    documents = [{"text": "a b", "labels": ["A"], "trust": 0}, {"text": "c", "labels": []}]
    path.write_text("".join(json.dumps(each) + "\n" for each in documents))
    assert weights_of(DocumentDatasetReader(weight="trust"), path) == [[0], [1]]
    path.write_text(json.dumps({"text": "a", "labels": [], "trust": True}))
    with pytest.raises(ValueError, match="a.jsonl:1: key `trust`: expected a weight, .* got True"):
        list(DocumentDatasetReader(weight="trust").read(str(path)))


@pytest.mark.parametrize("reader", [ColumnDatasetReader, DocumentDatasetReader])
def test_a_key_that_no_text_has_is_warned_of(reader, tmp_path, caplog):
    path = tmp_path / "a.jsonl"
    spans = {"labels": [] if reader is DocumentDatasetReader else [[0, 3, "PER"]]}
    texts = [{"text": f"Ada left {n}", "trust": 3, **spans} for n in range(2)]
    path.write_text("".join(json.dumps(each) + "\n" for each in texts))
    assert weights_of(reader(weight="trust"), path) == [[3], [3]]
    assert "no text has" not in caplog.text
    assert weights_of(reader(weight="thrust"), path) == [[1], [1]]
    assert "a.jsonl: no text has the key `thrust`, so all weigh 1" in caplog.text


def test_a_list_of_files_weighs_each_file_and_multiplies_columns(columns, tmp_path):
    (tmp_path / "b.conll").write_text("Bob 1 B-PER\n")
    path = tmp_path / "both.files.json"
    files = [{"path": "a.conll", "weight": 10}, {"path": "b.conll"}]
    path.write_text(json.dumps({"files": files}))
    assert weights_of(ColumnDatasetReader(tag_column=2), path) == [[10], [10], [1]]
    assert weights_of(ColumnDatasetReader(tag_column=2, weight=1), path) == [[20], [5], [1]]
    path.write_text(json.dumps({"files": [{"path": "a.conll", "weight": -1}]}))
    with pytest.raises(ValueError, match="both.files.json: a.conll: expected a weight"):
        list(ColumnDatasetReader().read(str(path)))
    path.write_text(json.dumps({"files": [{"path": "a.conll"}, {"path": "b.conll"}]}))
    instances = ColumnDatasetReader(tag_column=2).read(str(path))
    assert all("weights" not in each.fields for each in instances)


def test_a_column_weighs_recordings(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("id,x,tag,w\na,1,run,2\na,2,run,2\nb,1,sit,\n")
    settings = {"label_columns": "tag", "sequence_column": "id", "weight": "w"}
    reader = NumericSequencesDatasetReader(["x"], window=1, overlap=0, **settings)
    assert weights_of(reader, path) == [[2], [2], [1]]
    assert "weights" not in next(iter(reader.without_labels().read(str(path)))).fields
    path.write_text("id,x,tag,w\na,1,run,2\na,2,run,1\n")
    with pytest.raises(ValueError, match="a.csv:3: expected the weight of the rows before, 2"):
        list(reader.read(str(path)))
    with pytest.raises(ConfigurationError, match="has no column `weight`"):
        list(NumericSequencesDatasetReader(["x"], weight="weight").read(str(path)))
