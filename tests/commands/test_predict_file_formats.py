"""`predict-file` with the formats of annotation tools and libraries."""

import io
import json
import re

import pyarrow
import pyarrow.parquet
import pytest

import tagger
from tagger.commands.prediction_outputs import RecordLayout, encoder_of
from tagger.data.formats import FORMATS, AnnotatedText, convert_texts, read_texts, write_texts
from tagger.data.reading import Reading
from tagger_texts.prediction import Entity, Prediction

TEXTS = ["Maria Lindqvist met Paulo Ferraz in Lisbon.", "Élodie left 🙂 Oslo."]


@pytest.fixture
def predict(allennlp, trained, tmp_path, monkeypatch):
    """Runs the subcommand in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        allennlp("predict-file", trained / "model.tar.gz", *arguments)

    return run


def entities_of(path, format=None):
    return [[tuple(each) for each in text.entities] for text in read_texts(path, Reading(format))]


def write(path, format, texts=TEXTS):
    given = [AnnotatedText(text, [], None, None, "", {"id": n}) for n, text in enumerate(texts)]
    write_texts(given, path, format)


@pytest.mark.slow
def test_every_format_is_read_and_written_with_the_predicted_entities(predict, trained, tmp_path):
    tagged = tagger.load(trained / "model.tar.gz").tag(TEXTS)
    wanted = [[(each.label, each.start, each.end) for each in own.entities] for own in tagged]
    assert any(wanted)
    source = tmp_path / "in.jsonl"
    write(source, "doccano")
    for name, each in FORMATS.items():
        if name == "brat":
            continue
        output = tmp_path / f"{name}{each.suffixes[0]}"
        predict(source, "--input-format", "doccano", "-o", output, "--format", name)
        assert entities_of(output, name) == wanted, name
        again = tmp_path / f"again-{name}.jsonl"
        predict(output, "-o", again, "--format", "spacy_json")
        assert entities_of(again) == wanted, name
        if "properties" in each.keeps and name != "label_studio":
            assert [text.properties.get("id") for text in read_texts(output, Reading(name))] == [
                0,
                1,
            ]


def test_keys_that_are_not_written_are_named(predict, tmp_path, capsys):
    write(tmp_path / "in.jsonl", "doccano")
    predict("in.jsonl", "-o", "out.jsonl")
    assert (
        "Not written: id; the lines are in the order of the texts, and `--keep id` writes id"
        in capsys.readouterr().out
    )
    predict("in.jsonl", "-o", "kept.jsonl", "--format", "prodigy")
    (tmp_path / "in.csv").write_text("id,body\n7,Ada left\n")
    predict("in.csv", "-o", "rows.jsonl", "--text-column", "body")
    assert [line for line in capsys.readouterr().out.splitlines() if "Not written" in line] == [
        "Not written: id; the lines are in the order of the texts, and `--keep id` writes id"
    ]


RECORDS = [{"id": f"a{n}", "by": "Ann", "text": text} for n, text in enumerate(TEXTS)]


def lines_of(records):
    return "".join(json.dumps(each) + "\n" for each in records)


def renamed(key, of=str):
    """The records with the text under another key."""
    return lines_of([{"id": each["id"], key: of(each["text"])} for each in RECORDS])


KEEPING = {
    "in.jsonl": lines_of(RECORDS),
    "sentence.jsonl": renamed("sentence"),
    "tokens.jsonl": renamed("tokens", str.split),
    "in.csv": "id,by,text\n" + "".join(f"{each['id']},Ann,{each['text']}\n" for each in RECORDS),
}


@pytest.mark.parametrize("name", KEEPING)
@pytest.mark.parametrize("window", [1, 2])
def test_keys_that_are_named_come_back(name, window, predict, tmp_path, capsys):
    (tmp_path / name).write_text(KEEPING[name])
    predict(name, "-o", "out.jsonl", "--keep", "id", "--window", window)
    found = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [each["id"] for each in found] == ["a0", "a1"]
    assert all("tokens" in each and "by" not in each for each in found)
    out = capsys.readouterr().out
    assert "Not written: id" not in out
    assert ("Not written: by" in out) == name.startswith("in.")
    with pytest.raises(SystemExit, match="`--keep` ids is no key .*; the others are id.*mean `id`"):
        predict(name, "-o", "no.jsonl", "--keep", "ids")


@pytest.mark.parametrize("column", ["text", "body"])
def test_empty_cells_that_are_named_come_back(column, predict, tmp_path):
    (tmp_path / "in.csv").write_text(f"id,note,{column}\n7,,Ada left\n8,a,Bo\n")
    predict("in.csv", "-o", "out.jsonl", "--text-column", column, "--keep", "note")
    lines = (tmp_path / "out.jsonl").read_text().splitlines()
    assert [json.loads(line)["note"] for line in lines] == ["", "a"]


def test_rows_of_parquet_keep_columns_in_lines_of_json(predict, tmp_path):
    table = pyarrow.table({"id": [7, 8], "text": TEXTS})
    pyarrow.parquet.write_table(table, tmp_path / "in.parquet")
    predict("in.parquet", "-o", "out.jsonl", "--keep", "id")
    found = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [(each["id"], each["text"]) for each in found] == list(zip([7, 8], TEXTS))


def test_formats_masks_and_errors_have_the_named_keys_alone(predict, tmp_path):
    (tmp_path / "in.jsonl").write_text(lines_of(RECORDS))
    predict("in.jsonl", "-o", "out.jsonl", "--format", "prodigy", "--keep", "id")
    assert [text.properties for text in read_texts(tmp_path / "out.jsonl", Reading("prodigy"))] == [
        {"id": each["id"], "answer": "accept"} for each in RECORDS
    ]
    predict("in.jsonl", "-o", "masked.jsonl", "--mask", "labels", "--keep", "id")
    masked = [json.loads(line) for line in (tmp_path / "masked.jsonl").read_text().splitlines()]
    assert [[*each] for each in masked] == [["id", "text"]] * 2
    assert "Maria" not in masked[0]["text"]
    (tmp_path / "bad.jsonl").write_text('{"id": 7, "tokens": [""]}\n')
    predict("bad.jsonl", "-o", "errors.jsonl", "--on-error", "skip", "--keep", "id")
    error = json.loads((tmp_path / "errors.jsonl").read_text())
    assert (error["id"], error["line"]) == (7, 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["-o", "out.conll", "--format", "columns"],
            "`--format` columns has no place for `--keep`; ",
        ),
        (
            ["-o", "out.parquet"],
            "`--keep` is for JSON lines, and `--output` out.parquet is Parquet",
        ),
        (["-o", "out.txt", "--mask", "labels"], "`--output` out.txt has no place for `--keep`"),
        (["-o", "out/", "--mask", "labels"], "`--output` out/ has no place for `--keep`"),
        (
            ["-o", "o.jsonl", "--use-dataset-reader"],
            "`--keep` needs lines, which no dataset reader",
        ),
        (
            ["-o", "o.jsonl", "--keep", "error"],
            "`--keep` error is a key of predictions too; rename it",
        ),
        (["-o", "o.jsonl", "--plain"], "`--keep` id is no key .*; there is no other"),
    ],
)
def test_keys_that_have_no_place_are_refused(arguments, message, predict, tmp_path):
    (tmp_path / "in.jsonl").write_text(lines_of([{**each, "error": 1} for each in RECORDS]))
    with pytest.raises(SystemExit, match=message):
        predict("in.jsonl", "--keep", "id", *arguments)
    assert [each.name for each in tmp_path.iterdir()] == ["in.jsonl"]


def test_the_remedy_for_predicted_entities_that_overlap_is_there(tmp_path):
    entities = [
        Entity("PER", "Ada", 0, 3, 0, 0, None),
        Entity("ORG", "Ada Lee", 0, 7, 0, 1, None),
    ]
    found = Prediction(text="Ada Lee", tokens=["Ada", "Lee"], entities=entities)
    line = json.dumps(found.to_json()).encode()
    encode = encoder_of("out.conll", "in.txt", RecordLayout(format="columns"))
    with pytest.raises(
        ValueError, match="`--format prodigy`, and then convert it, with `allennlp conv"
    ):
        encode([line], io.BytesIO())
    encode = encoder_of("out.jsonl", "in.txt", RecordLayout(format="prodigy"))
    with (tmp_path / "out.jsonl").open("wb") as file:
        encode([line], file)
    texts = read_texts(tmp_path / "out.jsonl")
    assert convert_texts(texts, tmp_path / "out.conll", "columns", "longest").entities == 1


@pytest.mark.slow
def test_texts_of_a_folder_and_of_lines_become_annotations(predict, tmp_path):
    write(tmp_path / "in", "brat")
    predict("in", "-o", "of-brat.jsonl", "--format", "doccano")
    (tmp_path / "in.txt").write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    predict("in.txt", "-o", "of-lines.jsonl.gz", "--format", "doccano")
    assert entities_of("of-brat.jsonl") == entities_of("of-lines.jsonl.gz")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--format", "brat"], "`--format` brat is a folder of files; write another format"),
        (["--format", "csv", "--on-error", "skip"], "`--format` csv cannot represent; leave"),
    ],
)
def test_options_that_the_format_cannot_hold_are_refused(arguments, message, predict, tmp_path):
    (tmp_path / "in.txt").write_text("Ada\n")
    with pytest.raises(SystemExit, match=message):
        predict("in.txt", "-o", "out", *arguments)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_commands_that_only_read_lines_point_to_predict_file(allennlp, trained, tmp_path, capsys):
    path = tmp_path / "export.json"
    write(path, "label_studio", TEXTS[:1])
    with pytest.raises(SystemExit, match="1"):
        allennlp("predict", trained / "model.tar.gz", path)
    assert re.search(
        "has the format label_studio, .*`allennlp predict-file`", capsys.readouterr().err
    )
    with pytest.raises(SystemExit, match="has the format label_studio, .*: allennlp convert"):
        allennlp("find-label-errors", path, "-o", tmp_path / "doubts")
    assert not (tmp_path / "doubts").exists()
