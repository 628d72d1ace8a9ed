import json
import logging
import re
from pathlib import Path

import pytest
import torch

from tagger.data.dataset_readers import ColumnDatasetReader
from tagger.data.formats import FORMATS, read_texts, write_texts
from tagger.data.tokenizers import BlanksTokenizer
from tests.conftest import ROOT

TOY = ROOT / "data/toy/dev.txt"
NESTED = {"text": "York University left.", "label": [[0, 4, "LOC"], [0, 15, "ORG"]]}


def write(folder, *records):
    path = folder / "texts.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def read(path, **arguments):
    return list(ColumnDatasetReader(**arguments).read(str(path)))


def words_and_tags(instances):
    return [
        ([token.text for token in each["tokens"]], getattr(each.get("tags"), "labels", None))
        for each in map(dict, instances)
    ]


@pytest.mark.parametrize("encoding", ["BIO", "IOB1", "BIOUL"])
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_instances_of_the_column_file(name, encoding, tmp_path):
    path = tmp_path / f"toy{FORMATS[name].suffixes[0]}"
    write_texts(read_texts(TOY, "columns"), path, name)
    # Each is read as a file spelled in `source_encoding` would be.
    columns = read(TOY, tag_encoding="BIOUL")
    if not (name == "columns" and encoding == "BIOUL"):
        found = read(path, source_encoding=encoding, tag_encoding="BIOUL")
        assert words_and_tags(found) == words_and_tags(columns)


def test_a_text_is_a_document_whose_sentences_end_as_in_prediction(tmp_path):
    path = write(tmp_path, {"text": "Ada left. Why? \n\nNo one ", "label": [[0, 3, "PER"]]})
    reader = ColumnDatasetReader(documents="docstart")
    (instance,) = reader.read(str(path))
    assert instance["sentence_lengths"].tensor.tolist() == [3, 2, 2]
    assert reader.documents_in(path, "texts").of_item == [0, 0, 0]
    assert instance["tokens"].tokens.texts == ["Ada left.", "Why?", "No one"]
    (sentence,) = read(path)
    assert sentence["tokens"].tokens.texts == ["Ada left. Why? \n\nNo one "]
    assert ColumnDatasetReader().documents_in(path) is None


CASE = "Name: Ada\nBorn: 1815 in\nLondon. She left."


@pytest.mark.parametrize(
    ("label", "most_tokens", "wanted"),
    [
        ([6, 9, "PER"], 4, ["Name: Ada", "Born: 1815 in", "London.", "She left."]),
        # A sentence does not end inside an entity.
        ([16, 30, "BIRTH"], 4, ["Name: Ada", "Born: 1815 in\nLondon.", "She left."]),
        ([6, 9, "PER"], 100, [CASE]),
        ([6, 9, "PER"], None, [CASE]),
    ],
)
@pytest.mark.parametrize("has_tokens", [False, True])
def test_a_long_text_is_cut_into_sentences(label, most_tokens, wanted, has_tokens, tmp_path):
    record = {"text": CASE, "spans": [dict(zip(("start", "end", "label"), label))]}
    if has_tokens:
        tokens = re.finditer(r"\w+|\S", CASE)
        record["tokens"] = [
            {"text": each[0], "start": each.start(), "end": each.end(), "id": id}
            for id, each in enumerate(tokens)
        ]
    found = read(write(tmp_path, record), max_sentence_tokens=most_tokens)
    texts = [each["tokens"].tokens.texts[each["tokens"].tokens.first] for each in found]
    assert texts == wanted
    begun = [tag for each in found for tag in each["tags"].labels if tag != "O"]
    assert begun[0] == f"B-{label[2]}"


def test_a_list_of_tokens_is_one_sentence_however_long(tmp_path):
    words = CASE.split()
    path = write(tmp_path, {"tokens": words, "ner_tags": ["B-PER"] + ["O"] * (len(words) - 1)})
    (found,) = read(path, max_sentence_tokens=2)
    assert found["metadata"]["words"] == words


def test_tokens_are_the_readers_own_and_cut_where_entities_end(tmp_path, caplog):
    path = write(
        tmp_path,
        {"text": "To Paris-Lyon (A).", "label": [[3, 8, "LOC"], [13, 17, "X"]]},
        {"text": " ", "label": []},
    )
    with caplog.at_level(logging.INFO):
        found = read(path, tokenizer=None, language="en")
        blanks = read(path, tokenizer=BlanksTokenizer())
    assert words_and_tags(blanks) == [
        (["To", "Paris", "-Lyon", "(A)", "."], ["O", "B-LOC", "O", "B-X", "O"])
    ]
    assert words_and_tags(found)[0][0] == ["To", "Paris", "-", "Lyon", "(", "A", ")", "."]
    cut = "2 tokens were cut, since entities begin or end inside them, such as 'Paris-Lyon'"
    assert f"{cut} ({path}:1)" in caplog.text
    assert "left out 1 texts without a token" in caplog.text
    assert "moved 1 entities, to begin and end where tokens do: ' (A)'" in caplog.text


def test_overlapping_entities_are_refused_dropped_or_several_labels(tmp_path):
    path = write(tmp_path, NESTED)
    message = r"texts.jsonl:1: entities overlap, LOC 'York'.*overlapping"
    with pytest.raises(ValueError, match=message):
        read(path)
    assert words_and_tags(read(path, overlapping="longest"))[0][1] == ["B-ORG", "I-ORG", "O", "O"]
    (several,) = read(path, label_separator="|")
    assert several["tags"].label_sets == [["LOC", "ORG"], ["ORG"], [], []]


@pytest.mark.parametrize(
    ("record", "arguments", "error"),
    [
        ({**NESTED, "label": [[0, 4, "X"]]}, {"source_encoding": None}, "got entities; set `source_enc"),
        ({"tokens": ["Go"], "ner_tags": ["VERB"]}, {"source_encoding": "BIO"},
         "a label for each token, which marks no entities; set `source_encoding`"),
        ({"text": "Go", "label": [[0, 2, "A|B"]]}, {"label_separator": "|"}, "'A|B' cannot be told"),
        ({"text": "(" * 501, "label": []}, {}, "texts.jsonl:1` has 501 characters in a row"),
        ({"text": "Go"}, {"format": "doccano"}, "texts.jsonl:1: expected a list under one of"),
        ({"text": "Go", "label": []}, {"format": "conllu"}, "texts.jsonl:1: expected ten columns"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_by_place(record, arguments, error, tmp_path):
    with pytest.raises(ValueError, match=error.replace("|", r"\|")):
        read(write(tmp_path, record), **arguments)


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
def test_without_a_tag_column_texts_need_no_entities(name, content, tmp_path):
    path = tmp_path / name
    path.write_text(content)
    assert words_and_tags(read(path, tag_column=None)) == [(["Ada", "left"], None)]


def test_a_named_column_makes_a_file_of_columns(tmp_path):
    path = tmp_path / "a.conllu"
    path.write_text("1\tAda\t_\tPROPN\t_\t_\t0\troot\t_\tner=B-PER\n\n")
    assert words_and_tags(read(path)) == [(["Ada"], ["B-PER"])]
    assert words_and_tags(read(path, token_column=1, tag_column=7, source_encoding=None)) == [
        (["Ada"], ["root"])
    ]


def test_training_on_texts_gives_the_bytes_of_training_on_columns(allennlp, at_root, tmp_path):
    weights = []
    for name in ("columns", "label_studio"):
        paths = {}
        for part in ("train", "dev"):
            paths[part] = tmp_path / f"{name}.{part}.json"
            write_texts(read_texts(Path(f"data/toy/{part}.txt"), "columns"), paths[part], name)
        changes = {
            "train_data_path": str(paths["train"]),
            "validation_data_path": str(paths["dev"]),
            "trainer.num_epochs": 1,
        }
        run, config = tmp_path / name, "training_config/toy_bilstm_crf.jsonnet"
        allennlp("train", config, "-s", run, "-o", json.dumps(changes))
        weights.append({name: each.tolist() for name, each in torch.load(run / "best.th").items()})
        assert (run / "metrics_on_text.json").exists()
    assert weights[0] == weights[1]
