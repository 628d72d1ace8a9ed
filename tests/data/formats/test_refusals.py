"""Errors of the formats name the place that cannot be read or written."""

import json
import time
import zlib

import pytest
import spacy
import srsly
from spacy.tokens import DocBin

from tagger.data.formats import (
    AnnotatedText,
    Annotation,
    check_overlaps,
    format_of,
    read_texts,
    recognise,
    tokens_and_tags,
    write_texts,
)
from tagger.data.reading import Reading
from tests.data.formats.records import row, span, task


def labelled(text, *labels):
    return json.dumps({"text": text, "label": labels})


def second(label):
    return labelled("x") + "\n" + labelled("Ada left", label)


QUOTE = {"text": "Ada left", "spans": [{"start": 0, "end": 4, "label": "PER", "text": "Bob"}]}
WRONG = json.dumps([task({"result": []}), task({"result": [span(0, 3, "PER", "Bob")]})])
RANGES = r"a.jsonl:2: entity PER at .* to "
NO_TYPE = r"a.json, task 1: expected .* to be (a list|an object), got 3"
DOC_BIN = srsly.msgpack_loads(zlib.decompress(DocBin(docs=[spacy.blank("en")("Ada")]).to_bytes()))
NO_STRINGS = zlib.compress(srsly.msgpack_dumps({**DOC_BIN, "strings": []}))
FORMATS = {
    "a.jsonl": "doccano",
    "b.jsonl": "huggingface",
    "a.json": "label_studio",
    "a.conllu": "conllu",
    "a.csv": "csv",
    "a.spacy": "spacy",
    "a.ann": "brat",
    "a.txt": "brat",
}
INPUTS = [
    ("a.jsonl", second([0, 9, "PER"]), RANGES + "9 is not within its text of 8 characters"),
    ("a.jsonl", second([3, 3, "PER"]), RANGES + "3 is empty"),
    ("a.jsonl", second([-1, 3, "PER"]), RANGES + "3 is not within"),
    ("a.jsonl", second([0, 3, ""]), "a.jsonl:2: expected the label of an entity"),
    ("a.jsonl", second([0, "3", "P"]), "jsonl:2: expected an integer as end of entity P, got '3'"),
    ("a.jsonl", second("PER"), "a.jsonl:2: expected an entity as"),
    ("a.jsonl", '{"text": "A", "lables": []}', "a.jsonl:1: expected a list under one of spans"),
    ("a.jsonl", '{"txt": "Ada"}', "a.jsonl:1: expected an object with a `text`"),
    ("a.jsonl", labelled("a") + '\n{"text": \n', "a.jsonl:2: expected JSON"),
    ("a.jsonl", json.dumps(QUOTE), "is 'Ada ' in the text, but 'Bob' in the record"),
    ("a.jsonl", '{"text": "a\\ud800", "label": []}', r"jsonl:1: '\\ud800' is half of a surrogate"),
    ("a.jsonl", '{"text": "a", "label": [], "label": []}', "jsonl:1: an object has `label` twice"),
    ("a.json", '[{"text": "a", "x": {"b": 1, "b": 2}}]', "json:1: an object has `b` twice"),
    ("a.jsonl", '{"text": "a", "\\uDC00": []}', r"jsonl:1: '\\udc00' is half of a surrogate pair"),
    ("a.conllu", "1\tAda\n", "a.conllu:1: expected ten columns separated by tabs"),
    ("a.conllu", "# text = Bob\n" + row(1, "Ada", "X"), "conllu:2: token 1, 'Ada', is not in the"),
    ("a.csv", "a,b\n1,2\n", "a.csv:1: expected columns `text` and `entities`, or"),
    ("a.csv", "text,entities\nAda,[],3\n", "csv:2: expected 2 columns as in the header, got 3"),
    ("a.csv", "text,entities\nAda,PER\n", "a.csv:2: expected JSON, got 'PER'"),
    ("a.csv", 'text,entities\nAda,"[]\n', "a.csv:2: expected CSV, got a quote"),
    ("a.csv", f"text,entities\nAda,{'[' * 100_000}\n", "a.csv:2: expected JSON, got"),
    ("b.jsonl", '{"tokens": ["A"], "ner_tags": ["O", "O"]}', "jsonl:1: expected a tag for each of 1"),
    ("b.jsonl", '{"tokens": ["A"], "ner_tags": [1]}', "jsonl:1: `ner_tags` has integers without n"),
    ("a.json", WRONG, "a.json, task 2: entity PER at 0 to 3 is 'Ada' in"),
    ("a.json", '[{"data": {"image": 3}, "annotations": []}]', "1: expected the text as `data.text"),
    ("a.json", json.dumps([{**task(), "annotations": 3}]), NO_TYPE),
    ("a.json", json.dumps([task(3)]), NO_TYPE),
    ("a.json", json.dumps([{**task(), "data": 3}]), NO_TYPE),
    ("a.json", '[[{"labels": ["PER"], "start": 0, "text": "Ada"}]]', "1: expected a task to be"),
    ("a.json", '[{"data": "a", "x": {"labels": ["B"], "start": 0, "text": []}}]', "expected `data` to"),
    ("a.json", '[{"data": "a", "x": {"labels": ["B"], "start": 0, "text": "a"}}]', "expected `data` to"),
    ("a.json", json.dumps([task({"result": [3]})]), NO_TYPE),
    ("a.spacy", b"something else", "a.spacy: expected a DocBin of spaCy"),
    ("a.spacy", NO_STRINGS, r"a.spacy: expected a DocBin of spaCy \(.*\[E018\]"),
    ("a.ann", "T1\tPER 0 2;4\tÉl ie", r"a.ann:1: expected an entity as"),
    ("a.ann", "T1\tPER 0\tÉlodie", r"a.ann:1: expected an entity as"),
    ("a.ann", f"T1\tPER 0 {'9' * 5000}\tÉlodie", r"a.ann:1: expected an entity as"),
    ("a.ann", "T1\tPER 0 6\tElodie", r"a.ann: entity PER at 0 to 6 is 'Élodie' in .*, but 'Elodie'"),
    ("a.txt", "Nothing", "a.txt: expected an .ann file beside"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "message"), INPUTS, ids=range(len(INPUTS)))
def test_unreadable_input_is_refused_with_its_place(name, content, message, write):
    write("a.txt", "Élodie left")
    path = write(name, content)
    with pytest.raises(ValueError, match=message):
        list(read_texts(path.parent if FORMATS[name] == "brat" else path, Reading(FORMATS[name])))


@pytest.mark.parametrize("part", [[4, 8], [["a", 8]], [[4]]])
def test_unannotated_ranges_must_be_pairs_of_numbers(part, read_one):
    text = read_one("a.jsonl", {"text": "Ada", "label": [], "tagger_open": part})
    with pytest.raises(ValueError, match="a.jsonl:1: expected `tagger_open` to be a list of pairs"):
        tokens_and_tags(text)


@pytest.mark.parametrize(
    ("records", "remedy"),
    [
        ({"tokens": {"0": ["Ada"]}, "ner_tags": {"0": ["O"]}}, "in pandas with `to_json"),
        ({"0": {"tokens": ["Ada"]}, "1": {"tokens": ["Bo"]}}, "in pandas with `to_json"),
        ([{"sentence": 1, "word": "Ada", "label": "O"}], "write CSV, one token a line"),
        ([{"content": [], "marks": []}], "rename the keys"),
    ],
)
def test_json_of_an_unknown_layout_is_refused_with_its_remedy(records, remedy, write):
    with pytest.raises(ValueError, match=f"JSON of an unknown layout.*{remedy}"):
        format_of(write("a.json", json.dumps(records)))


def test_an_empty_list_of_tokens_means_that_there_are_none(read_one):
    record = {"text": "Ada", "tokens": [], "spans": [{"start": 0, "end": 3, "label": "PER"}]}
    assert read_one("a.jsonl", record).tokens is None


def test_unknown_formats_and_options_are_refused(write, tmp_path):
    path = write("a.jsonl", {"text": "a", "label": []})
    with pytest.raises(ValueError, match="no format 'docano'.*did you mean `doccano`"):
        read_texts(path, Reading("docano"))
    with pytest.raises(ValueError, match="format doccano has no `label_names`"):
        read_texts(path, Reading(label_names=["O"]))
    columns = write("b.txt", "Ada B-PER\n")
    assert (recognise(columns), format_of(columns)) == (None, "columns")
    with pytest.raises(ValueError, match=r"b.txt: format columns has no `offsets`"):
        read_texts(columns, Reading(offsets="bytes"))
    with pytest.raises(IsADirectoryError, match="expected a file, got a folder"):
        format_of(tmp_path)


NESTED = [Annotation("ORG", 0, 18), Annotation("LOC", 14, 18)]
CROSSING = [Annotation("A", 0, 10), Annotation("B", 8, 18)]
PLACES = "a.jsonl:1: entities overlap, ORG 'University of York' at 0 to 18 and LOC 'York' at 14"


def york(entities):
    return AnnotatedText("University of York", entities, None, None, "a.jsonl:1", {})


def test_texts_that_columns_cannot_hold_are_refused(tmp_path):
    for entities, message in (
        (NESTED, "a.jsonl:1: entities overlap"),
        ([Annotation("my X", 14, 18)], "1: a column file cannot hold 'York' with tag 'B-my X'"),
    ):
        with pytest.raises(ValueError, match=message):
            write_texts([york(entities)], tmp_path / "a.txt", "columns")
    # Readers would take the file for a binary one.
    with pytest.raises(ValueError, match="no token is -DOCSTART- or has a zero byte"):
        write_texts(
            [york([])._replace(text="a\0b", tokens=[(0, 3)])], tmp_path / "a.txt", "columns"
        )
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_not_overwritten(write):
    path = write("a.jsonl", "mine")
    with pytest.raises(FileExistsError):
        write_texts([york(NESTED)], path, "doccano")
    assert path.read_text() == "mine"


@pytest.mark.parametrize(
    ("entities", "how", "message"),
    [
        (NESTED[:1], [], None),
        (NESTED, [], PLACES),
        (NESTED, ["longest"], None),
        (NESTED, ["outermost"], None),
        (CROSSING, ["longest"], None),
        (CROSSING, ["outermost"], "to 'longest'"),
    ],
)
def test_overlaps_are_refused_or_the_inner_or_shorter_entity_is_dropped(entities, how, message):
    if message:
        with pytest.raises(ValueError, match=message):
            check_overlaps(york(entities), *how)
    else:
        assert check_overlaps(york(entities), *how) == (york(entities[:1]), entities[1:])


def test_adjacent_entities_do_not_overlap_and_checking_takes_linear_time():
    many = [Annotation("A", number, number + 1) for number in range(40_000)]
    start = time.process_time()
    assert check_overlaps(york(many))[0].entities == many
    # Comparing all pairs would take a minute.
    assert time.process_time() - start < 5
