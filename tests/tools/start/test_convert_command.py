import json

import pytest

from tagger.data import ColumnDatasetReader
from tagger.data.formats import FORMATS, Annotation, read_texts

RECORD = {"id": 3, "text": "York University in York", "label": [[0, 15, "ORG"], [19, 23, "LOC"]]}
NESTED = {**RECORD, "label": [[0, 4, "LOC"], *RECORD["label"]]}


@pytest.fixture
def convert(allennlp):
    return lambda *arguments: allennlp("convert", *arguments)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_text(json.dumps(RECORD))
    return path


@pytest.mark.parametrize("name", FORMATS)
def test_any_format_converts_into_any(name, convert, path, tmp_path, capsys):
    there = tmp_path / f"there{FORMATS[name].suffixes[0]}"
    convert(path, there, "--to", name)
    assert capsys.readouterr().out.splitlines()[1:3] == ["texts     1", "entities  2"]
    back = tmp_path / "back.jsonl"
    convert(there, back, "--to", "spacy_json")
    (text,) = read_texts(back)
    assert text.text == RECORD["text"]
    assert text.entities == [Annotation("ORG", 0, 15), Annotation("LOC", 19, 23)]


@pytest.mark.parametrize(
    "text",
    ["-DOCSTART- (d{}) O\n\na B-X\n\nb O\n\n", "# newdoc id = d{}\na B-X\n\nb O\n\n"],
)
@pytest.mark.parametrize("name", FORMATS)
def test_marks_of_documents_are_kept_or_said_to_be_lost(text, name, convert, tmp_path, capsys):
    (tmp_path / "in.conll").write_text("".join(map(text.format, (1, 2, 1))))
    there = tmp_path / f"there{FORMATS[name].suffixes[0]}"
    convert(tmp_path / "in.conll", there, "--to", name)
    lost = "lost      the documents of 6 texts" in capsys.readouterr().out
    assert lost == (name in ("spacy", "brat"))
    if not lost:
        convert(there, tmp_path / "back.jsonl", "--to", "doccano")
        found = list(map(json.loads, (tmp_path / "back.jsonl").read_text().splitlines()))
        names = [each.get("document", each.get("newdoc_id")) for each in found]
        if name == "columns":
            names = names[::2]
        assert names in (["d1", "d2", "d1"], ["d1", "d1", "d2", "d2", "d1", "d1"])


def test_no_file_is_written_that_its_name_calls_compressed(convert, path, tmp_path):
    with pytest.raises(
        SystemExit, match="a.conll.gz: compressed files are not written; name .*a.conll,"
    ):
        convert(path, tmp_path / "a.conll.gz")
    assert not (tmp_path / "a.conll.gz").exists()


def test_lost_moved_and_cut_annotations_are_reported(convert, path, tmp_path, capsys):
    path.write_text(json.dumps({**NESTED, "text": "York University in York "}))
    convert(path, tmp_path / "a.conll", "--overlapping", "longest")
    out = capsys.readouterr().out
    assert "dropped   1 entities that overlap" in out
    assert "lost      the other properties of 1 texts" in out
    convert(tmp_path / "a.conll", tmp_path / "a.csv")
    assert "lost      the tokens of 1 texts" in capsys.readouterr().out
    convert(path, tmp_path / "a.parquet", "--to", "huggingface", "--overlapping", "longest")
    assert "lost      the other properties of 1 texts" in capsys.readouterr().out
    path.write_text(json.dumps({"text": "Adas ox", "label": [[0, 3, "PER"], [4, 7, "X"]]}))
    convert(path, tmp_path / "b.conll")
    out = capsys.readouterr().out
    assert "moved     1 entities" in out
    assert "cut       1 tokens" in out


@pytest.mark.parametrize(
    ("content", "output", "message"),
    [
        (json.dumps(NESTED), "a.conll", "in.jsonl:1: entities overlap.*--overlapping"),
        ('{"text": "a", "label": [[0', "a.conll", "in.jsonl:1: expected JSON, got"),
        ("[]", "a.conll", "in.jsonl: expected records of JSON, got none"),
        ('{"words": 5}', "a.conll",
         "in.jsonl: JSON of an unknown layout; the first record has the keys words;"),
        (json.dumps(RECORD), "a.jsonl",
         "a.jsonl: its name does not tell the format; name one by `--to`: docc"),
    ],
)  # fmt: skip
def test_unreadable_inputs_and_unwritable_outputs_are_refused(
    content, output, message, convert, path, tmp_path
):
    path.write_text(content)
    with pytest.raises(SystemExit, match=f"^convert: .*{message}"):
        convert(path, tmp_path / output)
    assert not (tmp_path / output).exists()


def test_overlaps_are_kept_if_the_format_allows_them(convert, path, tmp_path):
    path.write_text(json.dumps(NESTED))
    convert(path, tmp_path / "a.json", "--to", "label_studio")
    assert len(next(read_texts(tmp_path / "a.json")).entities) == 3


@pytest.mark.parametrize("name", ["train.conll", "train.conllu"])
def test_a_long_text_becomes_sentences(name, convert, tmp_path):
    lines = [f"Case {number} of Ada Hill , who was born in Lima ." for number in range(12)]
    text = "\n".join(lines)
    start = text.index("Lima")
    # An entity across two lines joins them.
    record = {"text": text, "label": [[start, start + len("Lima .\nCase"), "LOC"]]}
    (tmp_path / "given.jsonl").write_text(json.dumps(record) + "\n")
    convert(tmp_path / "given.jsonl", tmp_path / name)
    reader = ColumnDatasetReader(source_encoding="BIO")
    found = [" ".join(each["metadata"]["words"]) for each in reader.read(str(tmp_path / name))]
    assert found == [" ".join(lines[:2]), *lines[2:]]


def test_it_says_that_a_column_file_has_several_annotators(convert, tmp_path, capsys):
    path = tmp_path / "in.txt"
    path.write_text("token A1 A2\n" + "Ada B-PER B-PER\nleft O O\nRome B-LOC O\n\n" * 4)
    convert(path, tmp_path / "a.jsonl", "--to", "doccano")
    assert "sources   A1, A2, it seems; `allennlp agreement` compares" in capsys.readouterr().out
    convert(path, tmp_path / "b.jsonl", "--to", "doccano", "--tag-column", "A2")
    assert "sources" not in capsys.readouterr().out


def test_it_says_how_a_column_file_was_understood(convert, tmp_path, capsys):
    path = tmp_path / "in.tsv"
    path.write_bytes(
        "# id = 1\n1\tZo\xeb\tB-PER\tO\n2\tleft\tO\tB-X\n3\tLee\tB-PER\tO\n".encode("cp1252")
    )
    convert(path, tmp_path / "a.jsonl", "--to", "doccano")
    assert capsys.readouterr().out.splitlines()[1:8] == [
        "text      Windows-1252 or Latin-1, by the look of it",
        "comments  1, the first on line 1: '# id = 1'",
        "columns   4, separated by tabs: tokens in column 1, tags in column 2 (counted from 0)",
        "spans     2 in column 2, 1 in column 3; `--tag-column` (`tag_column`) reads another than 2",
        "tags      spans in BIO",
        "texts     1",
        "entities  2",
    ]
    convert(path, tmp_path / "b.jsonl", "--to", "doccano", "--tag-column", 3)
    assert next(read_texts(tmp_path / "b.jsonl")).entities == [Annotation("X", 4, 8)]
    convert(path, tmp_path / "c.jsonl", "--to", "doccano", "--text-encoding", "cp1251")
    assert next(read_texts(tmp_path / "c.jsonl")).text == "Zo\u043b left Lee"


def test_parts_of_speech_are_not_entities(convert, tmp_path, capsys):
    (tmp_path / "in.conll").write_text("Ada N\nleft V\nLee N\nran V\n")
    convert(tmp_path / "in.conll", tmp_path / "a.jsonl", "--to", "doccano")
    assert "entities  0\nlabels    of 4 tokens, which mark no entities" in capsys.readouterr().out
