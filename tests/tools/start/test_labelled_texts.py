"""`start` and `convert` recognise texts with labels of the whole text, and its config trains on them."""

import csv
import io
import json
import re
from pathlib import Path
from random import Random

import pytest
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.data import DatasetReader

from tagger.tools.start.labelled_texts import find_labelled_texts

NAMES = ["commodity", "finance", "grain"]
TEXTS = [
    f"The {colour} {noun} {verb} today ."
    for colour in "red blue green old new".split()
    for noun in ("ship", "oil", "corn", "gold bank", "bank")
    for verb in "fell rose sank held".split()
]


def has(text):
    return {
        "commodity": any(word in text for word in ("oil", "gold")),
        "finance": "bank" in text,
        "grain": "corn" in text,
    }


def labels_of(text):
    return [label for label, is_there in has(text).items() if is_there]


def as_csv(rows, delimiter=","):
    file = io.StringIO()
    csv.writer(file, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return file.getvalue()


def as_json(records):
    return "".join(f"{json.dumps(each)}\n" for each in records)


def flags(text, signs="01"):
    return [signs[is_there] for is_there in has(text).values()]


def first(text):
    return (labels_of(text) or ["other"])[0]


#: By layout, the file's name and contents.
LAYOUTS = {
    "columns of 0 and 1": ("csv", as_csv([["text", *NAMES], *([t, *flags(t)] for t in TEXTS)])),
    "columns beside an identifier": (
        "csv",
        as_csv([["id", "comment_text", *NAMES],
                *([f"{n:08x}", t, *flags(t)] for n, t in enumerate(TEXTS))]),
    ),
    "true and false behind semicolons": (
        "csv",
        as_csv([["text", *NAMES], *([t, *flags(t, ["False", "True"])] for t in TEXTS)], ";"),
    ),
    "lists in Python": ("csv", as_csv([["text", "labels"], *([t, labels_of(t)] for t in TEXTS)])),
    "lists in JSON": (
        "tsv", as_csv([["text", "labels"], *([t, json.dumps(labels_of(t))] for t in TEXTS)], "\t"),
    ),
    "lists of names": ("jsonl", as_json({"text": t, "labels": labels_of(t)} for t in TEXTS)),
    "one list of all": (
        "json", json.dumps([{"text": t, "label": labels_of(t)} for t in TEXTS], indent=1),
    ),
    "spaCy's categories": (
        "jsonl",
        as_json({"text": t, "cats": {k: float(v) for k, v in has(t).items()}} for t in TEXTS),
    ),
    "fastText": (
        "txt", "".join(" ".join([*(f"__label__{e}" for e in labels_of(t)), t]) + "\n" for t in TEXTS),
    ),
}  # fmt: skip
#: Like these, but each text has one label.
SINGLE = {
    "a column of names": ("csv", as_csv([["text", "kind"], *([t, first(t)] for t in TEXTS)])),
    "no header": ("tsv", as_csv([[first(t), t] for t in TEXTS], "\t")),
    "a key": (
        "jsonl",
        as_json({"text": t, "label": first(t), "id": n} for n, t in enumerate(TEXTS)),
    ),
}


def write(folder, layout):
    suffix, text = layout
    path = folder / f"all.{suffix}"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", LAYOUTS)
def test_labels_of_whole_texts_are_read(name, tmp_path):
    found = find_labelled_texts(write(tmp_path, LAYOUTS[name]))
    assert found.texts == TEXTS
    read = [[label for label, is_there in each.items() if is_there] for each in found.labels]
    assert read == [*map(labels_of, TEXTS)]
    assert not found.is_single
    assert found.counts == {"commodity": 40, "finance": 40, "grain": 20}


@pytest.mark.parametrize("name", SINGLE)
def test_one_label_for_each_text_is_read(name, tmp_path):
    found = find_labelled_texts(write(tmp_path, SINGLE[name]))
    assert found.texts == TEXTS
    assert [[*each] for each in found.labels] == [[first(text)] for text in TEXTS]
    assert found.is_single


def test_of_several_columns_one_must_be_named(tmp_path):
    rows = [[n, text, f"user {n % 9}", first(text)] for n, text in enumerate(TEXTS)]
    path = write(tmp_path, ("csv", as_csv([["", "text", "author", "polarity"], *rows])))
    with pytest.raises(ValueError, match="all.csv: texts, .* may be in author or polarity; name"):
        find_labelled_texts(path)
    found = find_labelled_texts(path, "polarity")
    assert found.unused == ["column 0", "author"]
    assert found.counts == {"commodity": 40, "other": 20, "finance": 20, "grain": 20}


def test_labels_may_be_sorted(tmp_path):
    rows = [[f"{n}{label} {text}", label] for label in "ab" for n in range(20) for text in TEXTS]
    found = find_labelled_texts(write(tmp_path, ("csv", as_csv([["review", "class"], *rows]))))
    assert found.counts == {"a": 2_000, "b": 2_000}


def test_labels_in_one_cell_are_parted(tmp_path):
    for mark in ";|,":
        rows = [[text, mark.join(labels_of(text))] for text in TEXTS]
        found = find_labelled_texts(write(tmp_path, ("csv", as_csv([["text", "topics"], *rows]))))
        assert [[*(each or {})] for each in found.labels] == [*map(labels_of, TEXTS)]


#: How labels of whole texts are called, and how tables are spelled and written.
KINDS = {
    "names": ["ham", "spam", "Label"],
    "sentiments": ["-1", "0", "1"],
    "signs": ["1", "-1"],
    "stars": ["1", "5", "3"],
    "sentences": [f"{n}: the text has about this much of it" for n in range(3)],
}


@pytest.mark.parametrize("seed", range(40))
def test_tables_of_texts_are_read_however_they_are_written(seed, tmp_path):
    random = Random(seed)
    kind, name = map(random.choice, ([*KINDS], ["Label", "polarity", "Emotion", "stance"]))
    labels = [random.choice(KINDS[kind]) for _ in TEXTS]
    start = random.choice(["", "[USER] ", "很快好吃送餐好"])
    texts = [start * (random.random() < 0.3) + text for text in TEXTS]
    if start == "很快好吃送餐好":
        texts = [f"{start}{n}份" for n in range(len(TEXTS))]
    if random.random() < 0.5:
        texts[7] += " in <i>The Times</i>"
    columns = {
        "id": [f"t{n}" for n in range(len(TEXTS))],
        "text": texts,
        name: labels,
        "note": ["checked" if n % 50 == 0 else "again" * (n % 50 == 1) for n in range(len(TEXTS))],
        "places": [str([n % 9, n % 9 + 1]) for n in range(len(TEXTS))],
    }
    order = ["text", name, *random.sample(["id", "note", "places"], random.randint(0, 3))]
    random.shuffle(order)
    rows = [order, *zip(*(columns[each] for each in order))]
    if random.random() < 0.3:
        rows.insert(50, order)  # of merged files
    suffix = random.choice(["csv", "tsv", "txt", "train"])
    found = find_labelled_texts(write(tmp_path, (suffix, as_csv(rows, random.choice(",;\t")))))
    assert found.texts == texts
    assert [[*each] for each in found.labels] == [[label] for label in labels]
    assert found.used == (["text"], [name])


WORDS = [text.split() for text in TEXTS]
TAGS = [" ".join("OB"[n > 3] for n in range(len(words))) for words in WORDS]
PLACED = [(f"Sentence {n}", word) for n, words in enumerate(WORDS) for word in words]
OTHERS = {
    "tags in JSON": as_json({"text": " ".join(w), "labels": ["O"] * len(w)} for w in WORDS),
    "places": as_json({"text": t, "label": [[4, 7, "COLOUR"]]} for t in TEXTS),
    "spans": as_json({"text": t, "label": [{"start": 4, "end": 7, "label": "C"}]} for t in TEXTS),
    "tags in a cell": as_csv([["text", "tags"], *zip(TEXTS, TAGS)]),
    "an intent and tags": as_csv(zip(TEXTS, TAGS, map(first, TEXTS)), "\t"),
    "words": as_csv([["word", "tag"], *([word, "O"] for _, word in PLACED)]),
    "words by sentence": as_csv([["sentence", "word", "tag"], *((*each, "O") for each in PLACED)]),
    "entities": as_csv([["text", "entity", "label"], *([t, t.split()[1], "COLOUR"] for t in TEXTS)]),
    "tags of other words": as_json(
        {"text": t, "labels": ["O", "B-X", "I-X", "O"][: 2 + n % 3]} for n, t in enumerate(TEXTS)
    ),
    "numbers of tags": as_json(
        {"text": t, "labels": [-100, 0, n % 3, -100]} for n, t in enumerate(TEXTS)
    ),
    "an entity each": as_json(
        {"text": t, "start": 0, "end": n % 4, "label": first(t)} for n, t in enumerate(TEXTS)
    ),
    "an entity a row": as_csv(
        [["text", "begin", "end", "type"], *([t, 0, n % 4, first(t)] for n, t in enumerate(TEXTS))]
    ),
    "places of answers": as_json(
        {"context": t, "ends": [n % 4], "spans": [f"0;{n % 4}"]} for n, t in enumerate(TEXTS)
    ),
    "places of letters": as_csv(
        [["text", "places"], *([t, [n % 9, n % 9 + 1]] for n, t in enumerate(TEXTS))]
    ),
    "no labels": as_json({"text": t, "label": []} for t in TEXTS),
    "texts alone": "\n".join(TEXTS),
    "numbers": as_csv([["x", "y", "label"], *([n, n / 2, n % 2] for n in range(40))]),
    "marked texts": "\n".join(f"The <c>red</c> ship {n} fell" for n in range(40)),
    "one label": as_csv([["text", "label"], *([t, "x"] for t in TEXTS)]),
    "a label for each": as_csv([["text", "label"], *([t, f"x{n}"] for n, t in enumerate(TEXTS))]),
    "nothing": "",
    "binary": "\x00\x01\x02",
}  # fmt: skip


def test_labels_that_are_words_of_their_texts_must_be_named(
    allennlp, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    rows = [[text, text.split()[2]] for text in TEXTS]
    path = write(tmp_path, ("csv", as_csv([["text", "about"], *rows])))
    assert find_labelled_texts(path) is None
    with pytest.raises(SystemExit, match="if it is a label of the whole text, name its column by"):
        allennlp("start", path, "-o", "mine.jsonnet")
    allennlp("start", path, "-o", "mine.jsonnet", "--tag-column", "about")
    (convert,) = re.findall("allennlp (convert .*)  #", capsys.readouterr().out)
    path.rename("test.csv")
    allennlp(*convert.split())
    read = Path("test.labels.jsonl").read_text().splitlines()
    assert [json.loads(line)["labels"] for line in read] == [[about] for _, about in rows]


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("suffix", ["csv", "tsv", "txt", "jsonl"])
def test_other_files_are_left_to_others(name, suffix, tmp_path):
    assert find_labelled_texts(write(tmp_path, (suffix, OTHERS[name]))) is None


def test_unknown_labels_stay_unknown(tmp_path):
    rows = [[t, *(sign if n % 3 else "" for sign in flags(t))] for n, t in enumerate(TEXTS)]
    found = find_labelled_texts(write(tmp_path, ("csv", as_csv([["text", *NAMES], *rows]))))
    lines = [json.loads(line) for line in found.written()]
    assert lines[0] == {"text": TEXTS[0], "labels": dict.fromkeys(NAMES)}
    assert lines[1]["labels"] == {name: int(is_there) for name, is_there in has(TEXTS[1]).items()}
    assert any("some of 34" in line for line in found.described())
    known = find_labelled_texts(
        write(
            tmp_path, ("jsonl", as_json({"text": t, "labels": labels_of(t) or None} for t in TEXTS))
        )
    )
    assert any("all labels of 20 texts" in line for line in known.described())
    assert json.loads(known.written()[0]) == {"text": TEXTS[0], "labels": None}


def test_single_labels_may_be_unknown(tmp_path):
    """As for the reader `document`: no separate label is named after the sign."""
    signs = ["?", ["?"], -1, None]
    rows = [
        {"text": t, "labels": signs[n % 4] if n % 3 else [*labels_of(t), "?oil"] * bool(n)}
        for n, t in enumerate(TEXTS)
    ]
    found = find_labelled_texts(write(tmp_path, ("jsonl", as_json(rows))))
    assert set(found.counts) == set(NAMES)
    lines = [json.loads(line)["labels"] for line in found.written()]
    assert lines[3] == [*labels_of(TEXTS[3]), "?oil"]
    assert all(line is None for n, line in enumerate(lines) if n % 3)


def test_a_column_of_weights_holds_no_labels(tmp_path):
    path = tmp_path / "a.csv"
    rows = [[text, n % 2, n % 3 % 2] for n, text in enumerate(TEXTS)]
    path.write_text(as_csv([["text", "weight", "grain"], *rows]))
    found = find_labelled_texts(path)
    assert found.used == (["text"], ["grain"])
    assert "not used   weight (to weigh texts by it, set `weight: 'weight'`" in str(
        found.described()
    )
    assert find_labelled_texts(path, "weight").used == (["text"], ["weight"])


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_other_columns_such_as_weights_are_kept(suffix, tmp_path):
    rows = [{"id": n, "text": t, **has(t), "weight": 0.5} for n, t in enumerate(TEXTS)]
    table = as_csv([[*rows[0]], *([*map(str, row.values())] for row in rows)])
    content = table if suffix == "csv" else as_json(rows)
    found = find_labelled_texts(write(tmp_path, (suffix, content)))
    lines = [json.loads(line) for line in found.written()]
    assert [(int(each["id"]), float(each["weight"])) for each in lines[:2]] == [(0, 0.5), (1, 0.5)]


@pytest.mark.parametrize("name", ["columns beside an identifier", "fastText"])
def test_the_config_trains_and_the_commands_work(name, allennlp, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path, LAYOUTS[name])
    allennlp("start", path.name, "-o", "mine.jsonnet")
    said = capsys.readouterr().out
    assert "labels     3 of whole texts, in" in said
    assert "a text may have several or none: commodity 40, finance 40, grain 20" in said
    parts = [
        (tmp_path / f"mine.{part}.jsonl").read_text().splitlines() for part in ("train", "dev")
    ]
    assert [*map(len, parts)] == [80, 20]
    assert sorted(json.loads(line)["text"] for part in parts for line in part) == sorted(TEXTS)
    params = Params.from_file("mine.jsonnet", params_overrides={"trainer.num_epochs": 8})
    train_model(params, "runs/mine")
    assert (
        json.loads((tmp_path / "runs/mine/metrics.json").read_text())[
            "best_validation_f1-measure-overall"
        ]
        > 0.9
    )
    capsys.readouterr()
    allennlp("convert", path.name, "test.labels.jsonl")
    assert len((tmp_path / "test.labels.jsonl").read_text().splitlines()) == len(TEXTS)
    allennlp("evaluate", "runs/mine/model.tar.gz", "test.labels.jsonl")
    # The last text is shorter than the widest filter.
    text = "The new corn fell today ."
    files = {
        "new.txt": f"{text}\noil\n",
        "new.csv": as_csv([["id", "text"], [1, text], [2, "oil"]]),
        "labelled.csv": as_csv([["text", "label"], [text, "grain"], ["oil", "commodity"]]),
    }
    for file, written in files.items():
        (tmp_path / file).write_text(written)
        allennlp("predict-file", "runs/mine/model.tar.gz", file, "-o", "found.jsonl", "--force")
        found = [json.loads(line) for line in (tmp_path / "found.jsonl").read_text().splitlines()]
        assert [each["labels"] for each in found] == [["grain"], ["commodity"]]


def test_texts_are_split_by_their_labels(allennlp, tmp_path, capsys):
    path = write(tmp_path, LAYOUTS["columns of 0 and 1"])
    allennlp("split", path, tmp_path / "parts", "--shares", 0.5, 0.25, 0.25)
    assert "all texts      50 ( 50.0%)     25 ( 25.0%)     25 ( 25.0%)" in capsys.readouterr().out
    lines = (tmp_path / "parts/dev.jsonl").read_text().splitlines()
    assert any(isinstance(json.loads(line)["labels"], dict) for line in lines)


def test_the_reader_of_documents_names_the_command_for_tables(tmp_path):
    path = write(tmp_path, LAYOUTS["columns of 0 and 1"])
    with pytest.raises(ValueError, match="all.csv:1: expected a JSON object .* `allennlp convert`"):
        list(DatasetReader.by_name("document")().read(path))


def test_two_files_must_have_the_same_columns(allennlp, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path, LAYOUTS["columns of 0 and 1"])
    text = path.read_text()
    (tmp_path / "dev.csv").write_text(text)
    (tmp_path / "other.csv").write_text(text.replace("grain", "wheat", 1))
    allennlp("start", path.name, "dev.csv", "-o", "mine.jsonnet")
    assert "100.0% of 100 texts" in capsys.readouterr().out
    with pytest.raises(
        SystemExit, match="other.csv: expected texts and labels under the same names"
    ):
        allennlp("start", path.name, "other.csv", "-o", "other.jsonnet")


def test_labels_that_only_the_development_part_has_can_be_evaluated(
    allennlp, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    rows = [{"text": text, "labels": labels_of(text)} for text in TEXTS]
    (tmp_path / "all.jsonl").write_text(as_json(rows))
    late = [
        {**row, "labels": [*row["labels"], "late"]} if n < 2 else row for n, row in enumerate(rows)
    ]
    (tmp_path / "dev.jsonl").write_text(as_json(late))
    allennlp("start", "all.jsonl", "dev.jsonl", "-o", "mine.jsonnet")
    assert Params.from_file("mine.jsonnet")["vocabulary"]["tokens_to_add"].as_dict() == {
        "labels": ["late"]
    }
