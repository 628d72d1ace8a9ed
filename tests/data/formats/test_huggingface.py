import json
from datetime import datetime

import pytest

from tagger.data.formats import PLAIN_TAGS, Annotation, read_texts, write_texts

NAMES = ["O", "B-PER", "I-PER"]
ENTITIES = [Annotation("PER", 0, 9)]
RECORD = {"id": "7", "tokens": ["Ada", "Smith", "left", "."], "ner_tags": [1, 2, 0, 0]}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "train.jsonl"
    path.write_text(json.dumps(RECORD))
    return path


def test_integers_take_the_names_of_the_option(path):
    (text,) = read_texts(path, label_names=NAMES)
    assert (text.text, text.entities) == ("Ada Smith left.", ENTITIES)
    assert text.tokens == [(0, 3), (4, 9), (10, 14), (14, 15)]
    assert text.properties == {"id": "7"}


def test_integers_take_names_from_the_description_beside_the_file(path):
    feature = {"feature": {"names": NAMES, "_type": "ClassLabel"}, "_type": "Sequence"}
    info = {"features": {"ner_tags": feature}}
    for content in (info, {"default": info}):
        (path.parent / "dataset_info.json").write_text(json.dumps(content))
        (text,) = read_texts(path)
        assert text.entities == ENTITIES


def test_integers_take_names_from_parquet_metadata(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    features = {"ner_tags": {"feature": {"names": NAMES}, "_type": "List"}}
    metadata = {"huggingface": json.dumps({"info": {"features": features}})}
    table = pyarrow.Table.from_pylist([RECORD]).replace_schema_metadata(metadata)
    parquet.write_table(table, tmp_path / "train.parquet")
    (text,) = read_texts(tmp_path / "train.parquet")
    assert text.entities == ENTITIES


def test_integers_without_names_are_refused_by_place(path):
    with pytest.raises(ValueError, match=r"train.jsonl:1: `ner_tags` has integers without names"):
        list(read_texts(path))
    with pytest.raises(ValueError, match=r"train.jsonl:1: `ner_tags` has 2, but there are 2 names"):
        list(read_texts(path, label_names=["O", "B-PER"]))


def test_plain_labels_are_a_label_for_each_token(path):
    path.write_text('{"tokens": ["Ada", "left"], "pos_tags": ["PROPN", "VERB"]}')
    (text,) = read_texts(path)
    assert text.entities == [Annotation("PROPN", 0, 3), Annotation("VERB", 4, 8)]
    assert text.properties == {PLAIN_TAGS: True}


def test_more_tags_than_tokens_are_refused(path):
    path.write_text('{"tokens": ["Ada"], "ner_tags": ["O", "O"]}')
    with pytest.raises(
        ValueError, match=r"train.jsonl:1: expected a tag for each of 1 tokens, got 2"
    ):
        list(read_texts(path))


def parquet_file(path, metadata=b"{}", **columns):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({"tokens": [["Ada"]], "ner_tags": [[1]], **columns})
    parquet.write_table(table.replace_schema_metadata({"huggingface": metadata}), path)


@pytest.mark.parametrize(
    "metadata",
    [
        b"[]",
        b'"x"',
        b'{"info": {"features": {"ner_tags": {"names": 5}}}}',
        b'{"info": {"features": {"ner_tags": {"names": [5, 6]}}}}',
        b'{"info": {"features": {"ner_tags": {"names": {"a": "B-PER"}}}}}',
    ],
)
def test_metadata_that_name_no_integers_are_left_aside(metadata, tmp_path):
    parquet_file(tmp_path / "a.parquet", metadata)
    with pytest.raises(
        ValueError, match=r"a.parquet, row 1: `ner_tags` has integers without names"
    ):
        list(read_texts(tmp_path / "a.parquet"))


def test_times_and_bytes_of_parquet_become_strings(tmp_path):
    parquet_file(tmp_path / "a.parquet", at=[datetime(2020, 1, 2)], raw=[b"x"])
    texts = read_texts(tmp_path / "a.parquet", label_names=NAMES)
    write_texts(texts, tmp_path / "b.jsonl", "doccano")
    (text,) = read_texts(tmp_path / "b.jsonl")
    assert text.properties == {"at": "2020-01-02 00:00:00", "raw": "b'x'"}


def test_damaged_rows_of_parquet_are_refused_by_place(tmp_path):
    path = tmp_path / "a.parquet"
    parquet_file(path)
    content = bytearray(path.read_bytes())
    content[4:40] = bytes(36)
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"a.parquet: damaged behind row 0 \(.*\)$"):
        list(read_texts(path))
