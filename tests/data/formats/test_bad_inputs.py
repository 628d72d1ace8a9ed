"""What cannot be read is refused by its place."""

import json

import pytest

from tagger.data.formats import read_texts
from tests.data.formats.test_conllu import row
from tests.data.formats.test_label_studio import span, task


def labelled(text, *labels):
    return json.dumps({"text": text, "label": labels})


def second(label):
    return labelled("x") + "\n" + labelled("Ada left", label)


QUOTE = {"text": "Ada left", "spans": [{"start": 0, "end": 4, "label": "PER", "text": "Bob"}]}
WRONG = json.dumps([task({"result": []}), task({"result": [span(0, 3, "PER", "Bob")]})])
RANGES = r"a.jsonl:2: entity PER at .* to "
NO_TYPE = r"a.json, task 1: expected .* to be (a list|an object), got 3"

INPUTS = [
    ("a.jsonl", second([0, 9, "PER"]), RANGES + "9 is not within its text of 8 characters"),
    ("a.jsonl", second([3, 3, "PER"]), RANGES + "3 is empty"),
    ("a.jsonl", second([-1, 3, "PER"]), RANGES + "3 is not within"),
    ("a.jsonl", second([0, 3, ""]), "a.jsonl:2: expected the label of an entity"),
    (
        "a.jsonl",
        second([0, "3", "P"]),
        "a.jsonl:2: expected an integer as end of entity P, got '3'",
    ),
    ("a.jsonl", second("PER"), "a.jsonl:2: expected an entity as"),
    ("a.jsonl", '{"text": "A", "lables": []}', "a.jsonl:1: expected a list under one of spans"),
    ("a.jsonl", '{"txt": "Ada"}', "a.jsonl:1: expected an object with a `text`"),
    ("a.jsonl", labelled("a") + '\n{"text": \n', "a.jsonl:2: expected JSON"),
    ("a.jsonl", json.dumps(QUOTE), "is 'Ada ' in the text, but 'Bob' in the record"),
    ("a.jsonl", '{"text": "a\\ud800", "label": []}', r"jsonl:1: '\\ud800' is half of a surrogate"),
    (
        "a.jsonl",
        '{"text": "a", "\\uDC00": []}',
        r"a.jsonl:1: '\\udc00' is half of a surrogate pair",
    ),
    ("a.conllu", "1\tAda\n", "a.conllu:1: expected ten columns separated by tabs"),
    (
        "a.conllu",
        "# text = Bob\n" + row(1, "Ada", "X"),
        "a.conllu:2: token 1, 'Ada', is not in the",
    ),
    ("a.csv", "a,b\n1,2\n", "a.csv:1: expected columns `text` and `entities`, or"),
    ("a.csv", "text,entities\nAda,[],3\n", "csv:2: expected 2 columns as in the header, got 3"),
    ("a.csv", "text,entities\nAda,PER\n", "a.csv:2: expected JSON, got 'PER'"),
    ("a.csv", 'text,entities\nAda,"[]\n', "a.csv:3: expected CSV"),
    ("a.csv", f"text,entities\nAda,{'[' * 100_000}\n", "a.csv:2: expected JSON, got"),
    (
        "b.jsonl",
        '{"tokens": ["A"], "ner_tags": ["O", "O"]}',
        "b.jsonl:1: expected a tag for each of 1",
    ),
    ("b.jsonl", '{"tokens": ["A"], "ner_tags": [1]}', "jsonl:1: `ner_tags` has integers without n"),
    ("a.json", WRONG, "a.json, task 2: entity PER at 0 to 3 is 'Ada' in"),
    (
        "a.json",
        '[{"data": {"image": 3}, "annotations": []}]',
        "task 1: expected the text as `data.text",
    ),
    ("a.json", json.dumps([{**task(), "annotations": 3}]), NO_TYPE),
    ("a.json", json.dumps([task(3)]), NO_TYPE),
    ("a.json", json.dumps([{**task(), "data": 3}]), NO_TYPE),
    ("a.json", json.dumps([task({"result": [3]})]), NO_TYPE),
    ("a.spacy", b"something else", "a.spacy: expected a DocBin of spaCy"),
]
FORMATS = {
    "a.jsonl": "doccano",
    "b.jsonl": "huggingface",
    "a.json": "label_studio",
    "a.conllu": "conllu",
    "a.csv": "csv",
    "a.spacy": "spacy",
}


@pytest.mark.parametrize(("name", "content", "message"), INPUTS, ids=range(len(INPUTS)))
def test_what_cannot_be_read_is_refused_by_place(name, content, message, write):
    with pytest.raises(ValueError, match=message):
        list(read_texts(write(name, content), FORMATS[name]))
