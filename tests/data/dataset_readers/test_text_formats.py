import json
import logging
import re
from pathlib import Path

import pytest
import torch

from tagger.data.dataset_readers.column import ColumnDatasetReader
from tagger.data.formats import FORMATS, read_texts, write_texts
from tagger.data.reading import Reading
from tagger.data.tokenizers import BlanksTokenizer
from tests.conftest import ROOT

TOY = ROOT / "data/toy/dev.txt"


def read(path, **arguments):
    return list(ColumnDatasetReader(**arguments).read(str(path)))


def words_and_tags(instances):
    return [
        ([token.text for token in each["tokens"]], getattr(each.get("tags"), "labels", None))
        for each in map(dict, instances)
    ]


@pytest.mark.parametrize("encoding", ["BIO", "IOB1", "BIOUL"])
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_instances_as_the_column_file(name, encoding, tmp_path):
    path = tmp_path / f"toy{FORMATS[name].suffixes[0]}"
    write_texts(read_texts(TOY, Reading("columns")), path, name)
    # The tags are those of the column file in `source_encoding`.
    columns = read(TOY, tag_encoding="BIOUL")
    if not (name == "columns" and encoding == "BIOUL"):
        found = read(path, source_encoding=encoding, tag_encoding="BIOUL")
        assert words_and_tags(found) == words_and_tags(columns)


def test_a_text_is_a_document_and_is_split_into_sentences_as_in_prediction(write):
    record = {"text": "Ada left. Why? \n\nNo one ", "label": [[0, 3, "PER"]]}
    path, reader = write("texts.jsonl", record), ColumnDatasetReader(documents="docstart")
    (instance,) = reader.read(str(path))
    assert instance["sentence_lengths"].tensor.tolist() == [3, 2, 2]
    assert reader.documents_in(path, "texts").of_item == [0, 0, 0]
    assert instance["tokens"].tokens.texts == ["Ada left.", "Why?", "No one"]
    (sentence,) = read(path)
    assert sentence["tokens"].tokens.texts == [record["text"]]
    assert ColumnDatasetReader().documents_in(path) is None


CASE = "Name: Ada\nBorn: 1815 in\nLondon. She left."


@pytest.mark.parametrize(
    ("label", "most_tokens", "wanted"),
    [
        ([6, 9, "PER"], 4, ["Name: Ada", "Born: 1815 in", "London.", "She left."]),
        # No sentence ends inside an entity.
        ([16, 30, "BIRTH"], 4, ["Name: Ada", "Born: 1815 in\nLondon.", "She left."]),
        ([6, 9, "PER"], 100, [CASE]),
        ([6, 9, "PER"], None, [CASE]),
    ],
)
@pytest.mark.parametrize("has_tokens", [False, True])
def test_a_long_text_is_cut_into_sentences(label, most_tokens, wanted, has_tokens, write):
    record = {"text": CASE, "spans": [dict(zip(("start", "end", "label"), label))]}
    if has_tokens:
        record["tokens"] = [
            {"text": each[0], "start": each.start(), "end": each.end(), "id": id}
            for id, each in enumerate(re.finditer(r"\w+|\S", CASE))
        ]
    found = read(write("texts.jsonl", record), max_sentence_tokens=most_tokens)
    assert [each["tokens"].tokens.texts[each["tokens"].tokens.first] for each in found] == wanted
    begun = [tag for each in found for tag in each["tags"].labels if tag != "O"]
    assert begun[0] == f"B-{label[2]}"


def test_a_list_of_tokens_is_one_sentence_however_long(write):
    words = CASE.split()
    record = {"tokens": words, "ner_tags": ["B-PER"] + ["O"] * (len(words) - 1)}
    (found,) = read(write("texts.jsonl", record), max_sentence_tokens=2)
    assert found["metadata"]["words"] == words


def test_the_readers_tokens_are_split_at_entity_boundaries(write, caplog):
    record = {"text": "To Paris-Lyon (A).", "label": [[3, 8, "LOC"], [13, 17, "X"]]}
    path = write("texts.jsonl", record, {"text": " ", "label": []})
    with caplog.at_level(logging.INFO):
        found = read(path, tokenizer=None, language="en")
        blanks = read(path, tokenizer=BlanksTokenizer())
    words = ["To", "Paris", "-Lyon", "(A)", "."]
    assert words_and_tags(blanks) == [(words, ["O", "B-LOC", "O", "B-X", "O"])]
    assert words_and_tags(found)[0][0] == ["To", "Paris", "-", "Lyon", "(", "A", ")", "."]
    cut = "2 tokens were cut, since entities begin or end inside them, such as 'Paris-Lyon'"
    assert f"{cut} ({path}:1)" in caplog.text
    assert "left out 1 texts without a token" in caplog.text
    assert "moved 1 entities, to begin and end where tokens do: ' (A)'" in caplog.text


def test_overlapping_entities_keep_the_longest_or_all_labels(write):
    record = {"text": "York University left.", "label": [[0, 4, "LOC"], [0, 15, "ORG"]]}
    path = write("texts.jsonl", record)
    assert words_and_tags(read(path, overlapping="longest"))[0][1] == ["B-ORG", "I-ORG", "O", "O"]
    (several,) = read(path, label_separator="|")
    assert several["tags"].label_sets == [["LOC", "ORG"], ["ORG"], [], []]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", '{"text": "Ada left"}'),
        ("a.json", '[{"data": {"text": "Ada left"}}]'),
        ("a.jsonl", '{"tokens": ["Ada", "left"], "ner_tags": [7, 7]}'),
        ("a.csv", "id,text\n1,Ada left\n"),
        ("a.txt", "Ada\nleft\n"),
    ],
)
def test_without_a_tag_column_texts_need_no_entities(name, content, write):
    path = write(name, content)
    assert words_and_tags(read(path, tag_column=None)) == [(["Ada", "left"], None)]


def test_naming_a_column_makes_it_a_column_file(write):
    path = write("a.conllu", "1\tAda\t_\tPROPN\t_\t_\t0\troot\t_\tner=B-PER\n\n")
    assert words_and_tags(read(path)) == [(["Ada"], ["B-PER"])]
    columns = {"token_column": 1, "tag_column": 7, "source_encoding": None}
    assert words_and_tags(read(path, **columns)) == [(["Ada"], ["root"])]


def test_training_on_texts_writes_the_same_bytes_as_on_columns(allennlp, at_root, tmp_path):
    weights = []
    for name in ("columns", "label_studio"):
        changes = {"trainer.num_epochs": 1}
        for part, key in (("train", "train_data_path"), ("dev", "validation_data_path")):
            path = tmp_path / f"{name}.{part}.json"
            write_texts(read_texts(Path(f"data/toy/{part}.txt"), Reading("columns")), path, name)
            changes[key] = str(path)
        run, config = tmp_path / name, "training_config/toy_bilstm_crf.jsonnet"
        allennlp("train", config, "-s", run, "-o", json.dumps(changes))
        weights.append({name: each.tolist() for name, each in torch.load(run / "best.th").items()})
        assert (run / "metrics_on_text.json").exists()
    assert weights[0] == weights[1]
