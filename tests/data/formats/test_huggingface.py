import json
from datetime import datetime

import pytest

from tagger.data.formats import PLAIN_TAGS, Annotation, read_texts, write_texts
from tagger.data.reading import Reading

NAMES = ["O", "B-PER", "I-PER"]
ENTITIES = [Annotation("PER", 0, 9)]
RECORD = {"id": "7", "tokens": ["Ada", "Smith", "left", "."], "ner_tags": [1, 2, 0, 0]}


def parquet_file(path, metadata=b"{}", **columns):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {"tokens": [["Ada"]], "ner_tags": [[1]], **columns}
    table = pyarrow.table(columns).replace_schema_metadata({"huggingface": metadata})
    parquet.write_table(table, path)
    return path


def test_integer_tags_are_named_by_the_option_or_the_description_beside_the_file(write):
    path = write("train.jsonl", RECORD)
    (text,) = read_texts(path, Reading(label_names=NAMES))
    assert (text.text, text.entities) == ("Ada Smith left.", ENTITIES)
    assert text.tokens == [(0, 3), (4, 9), (10, 14), (14, 15)]
    assert text.properties == {"id": "7"}
    with pytest.raises(ValueError, match=r"train.jsonl:1: `ner_tags` has 2, but there are 2 names"):
        list(read_texts(path, Reading(label_names=["O", "B-PER"])))
    feature = {"feature": {"names": NAMES, "_type": "ClassLabel"}, "_type": "Sequence"}
    info = {"features": {"ner_tags": feature}}
    for content in (info, {"default": info}):
        write("dataset_info.json", json.dumps(content))
        (text,) = read_texts(path)
        assert text.entities == ENTITIES


@pytest.mark.parametrize("names", ["5", "[5, 6]", '{"a": "B-PER"}', None, json.dumps(NAMES)])
def test_integer_tags_are_named_by_parquet_metadata(names, tmp_path):
    features = f'{{"ner_tags": {{"feature": {{"names": {names}}}, "_type": "List"}}}}'
    metadata = f'{{"info": {{"features": {features}}}}}' if names else "[]"
    path = parquet_file(tmp_path / "a.parquet", metadata)
    if names == json.dumps(NAMES):
        (text,) = read_texts(path)
        assert text.entities == [Annotation("PER", 0, 3)]
    else:
        with pytest.raises(ValueError, match="row 1: `ner_tags` has integers without names"):
            list(read_texts(path))


def test_plain_labels_are_a_label_for_each_token(read_one):
    text = read_one("a.jsonl", {"tokens": ["Ada", "left"], "pos_tags": ["PROPN", "V"]})
    assert text.entities == [Annotation("PROPN", 0, 3), Annotation("V", 4, 8)]
    assert text.properties == {PLAIN_TAGS: True}


def test_times_and_bytes_of_parquet_become_strings_and_damaged_rows_are_refused(tmp_path):
    path = parquet_file(tmp_path / "a.parquet", at=[datetime(2020, 1, 2)], raw=[b"x"])
    write_texts(read_texts(path, Reading(label_names=NAMES)), tmp_path / "b.jsonl", "doccano")
    (text,) = read_texts(tmp_path / "b.jsonl")
    assert text.properties == {"at": "2020-01-02 00:00:00", "raw": "b'x'"}
    content = path.read_bytes()
    path.write_bytes(content[:4] + bytes(36) + content[40:])
    with pytest.raises(ValueError, match=r"a.parquet: damaged behind row 0 \(.*\)$"):
        list(read_texts(path))
