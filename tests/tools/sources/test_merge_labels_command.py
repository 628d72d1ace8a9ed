"""`merge-labels` writes what a reader trains on, and says how reliable each source is."""

import json

import pytest

from tagger.data.dataset_readers.column import ColumnDatasetReader
from tagger.data.formats import AnnotatedText, Annotation
from tagger.data.soft_labels import SoftLabels
from tagger.data.sources.annotations import SourcedText
from tagger.tools.sources.commands.merge_labels import described
from tagger.tools.sources.merging import merge

NAMES = ["Ada", "Bo", "Cy"]
#: Annotators and the names that each of them overlooks.
OVERLOOKED = {"anna": [], "ben": [5, 9], "cy": [2, 7, 11], "don": [*range(0, 30, 2)]}


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Files of four annotators; the last one is a copy."""
    monkeypatch.chdir(tmp_path)
    for annotator, overlooked in {**OVERLOOKED, "eve": OVERLOOKED["don"]}.items():
        lines = []
        for number in range(60):
            tag = "O" if number in overlooked else "B-PER"
            lines += [f"{NAMES[number % 3]} {tag}", "saw O", f"thing{number} O", ""]
        (tmp_path / f"{annotator}.conll").write_text("\n".join(lines) + "\n")
    return [f"{name}={name}.conll" for name in [*OVERLOOKED, "eve"]]


def test_labels_and_soft_labels_are_written_for_training(files, allennlp, capsys):
    allennlp("merge-labels", *files, "-o", "merged.conll", "--soft-labels", "soft.npz")
    said = capsys.readouterr().out
    assert "eve repeats the labels of don, errors included" in said
    assert "don        60        45       1.00    0.75  PER missed (15)" in said
    assert "60 texts, 60 entities, 0 words left open\n" in said
    reader = ColumnDatasetReader(tag_encoding="BIOUL")
    instances = list(reader.read("merged.conll"))
    assert [each["tags"].labels for each in instances] == [["U-PER", "O", "O"]] * 60
    soft = SoftLabels.load("soft.npz")
    found = soft.find(["Ada", "saw", "thing0"])
    assert soft.tags[found.tags[0].argmax()] == "U-PER"


def test_a_file_of_several_sources_may_name_gold_and_leave_parts_open(tmp_path, allennlp, capsys):
    lines = []
    for number in range(60):
        found = {"a": [[0, 3, "PER"]], "b": [[0, 3, "LOC"]], "truth": [[0, 3, "LOC"]]}
        found = {"a": found["a"]} if number > 50 else found
        lines.append(json.dumps({"text": f"Bob is {number}", "annotations": found}))
    lines.append(json.dumps({"text": "Nobody read this", "annotations": {}}))
    (tmp_path / "all.jsonl").write_text("\n".join(lines))
    output = tmp_path / "merged.jsonl"
    command = ("merge-labels", tmp_path / "all.jsonl", "-o", output, "--format", "doccano")
    allennlp(*command, "--gold", "truth", "--min-probability", 0.5)
    said = capsys.readouterr().out
    assert "LOC as PER (60)" in said
    assert "3 words left open; to train on them, set `unknown_tag: '?'` of the dataset re" in said
    records = [json.loads(line) for line in output.read_text().splitlines()]
    assert [each["label"] for each in records[:60]] == [[[0, 3, "LOC"]]] * 60
    assert records[60]["tagger_open"] == [[0, 6], [7, 11], [12, 16]]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["a=anna.conll", "--gold", "b"], "`gold` is 'b', which is no source"),
        (["a=none.conll"], "none.conll: there is no such file"),
        (["a=anna.conll", "--min-probability", 2], "`--min-probability` must be between 0 and 1"),
        (["a=anna.conll", "-o", "anna.conll"], "anna.conll"),
        (["a=anna.conll", "--cuda-device", 99], "GPU"),
        (["a=anna.conll", "--soft-labels", "m.conll"], "m.conll"),
        (
            ["anna.conll", "ben.conll", "lower.conll"],
            r"the labels `PER` \(from anna, ben\) and `per` \(from lower\) differ only in case; "
            "rename one of them",
        ),
    ],
)
def test_bad_input_is_an_error_that_says_what_to_do(files, allennlp, tmp_path, arguments, error):
    before = (tmp_path / "anna.conll").read_text()
    (tmp_path / "lower.conll").write_text(before.replace("PER", "per"))
    output = [] if "-o" in arguments else ["-o", "m.conll"]
    with pytest.raises(SystemExit, match=error) as caught:
        allennlp("merge-labels", *arguments, *output)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "m.conll").exists()
    assert (tmp_path / "anna.conll").read_text() == before


def test_rules_that_complement_each_other_are_believed(tmp_path, allennlp, capsys):
    lines = []
    for number in range(240):
        found = {
            name: [[0, 3, "PER"]] if row == number % 6 else [] for row, name in enumerate("abcdef")
        }
        lines.append(json.dumps({"text": f"Ada saw thing {number}", "annotations": found}))
    (tmp_path / "all.jsonl").write_text("\n".join(lines))
    allennlp("merge-labels", tmp_path / "all.jsonl", "-o", tmp_path / "m.conll")
    said = capsys.readouterr().out
    assert "240 entities" in said
    assert "Hardly any" not in said


def test_a_source_that_no_other_one_can_judge_is_named():
    text = AnnotatedText("Ada left.", [], None, None, "", {})
    merged = merge([SourcedText(text, {"a": [Annotation("PER", 0, 3)]})])
    found = merged.sources["a"]._replace(num_entities=40, precision=0.01)
    for each, is_named in ((found, True), (found._replace(is_chance=True), False)):
        said = described(merged._replace(sources={"a": each}))
        assert any("Hardly any label of a is among" in line for line in said) == is_named


def test_nothing_is_lost_if_the_output_cannot_hold_open_parts(tmp_path, allennlp):
    lines = [
        {"text": "Bob", "annotations": {"a": [[0, 3, "PER"]]}},
        {"text": "x", "annotations": {}},
    ]
    (tmp_path / "all.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (tmp_path / "m.csv").write_text("mine")
    command = ("merge-labels", tmp_path / "all.jsonl", "-o", tmp_path / "m.csv", "--force")
    with pytest.raises(SystemExit, match="csv cannot leave tags open; write columns"):
        allennlp(*command, "--format", "csv")
    assert (tmp_path / "m.csv").read_text() == "mine"
