import json

import pytest

from tagger.data import ColumnDatasetReader
from tagger.data.formats import AnnotatedText, Annotation, read_texts, write_texts
from tagger.data.split_file import read_column_file
from tests.conftest import ROOT

TOY = ROOT / "data/toy/train.txt"


@pytest.fixture
def split(allennlp):
    return lambda *arguments: allennlp("split", *arguments)


def sentences(path):
    return [
        (*instance["metadata"]["words"], *instance["tags"])
        for instance in ColumnDatasetReader().read(path)
    ]


def test_sentences_of_a_column_file_are_split_by_their_labels(split, tmp_path, capsys):
    split(TOY, tmp_path / "out", "--shares", 0.5, 0.25, 0.25)
    read = {name: sentences(tmp_path / "out" / f"{name}.txt") for name in ("train", "dev", "test")}
    assert sorted(sum(read.values(), [])) == sorted(sentences(TOY))
    with_event = [sum("B-EVENT" in each for each in part) for part in read.values()]
    total = sum(with_event)
    assert with_event == pytest.approx([total / 2, total / 4, total / 4], abs=0.99)
    (row,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("EVENT"))
    assert [int(word) for word in row.replace("(", " ").split()[1::2]] == with_event


def test_documents_are_split_by_the_labels_under_a_key(split, tmp_path):
    lines = [json.dumps({"text": f"é{i}", "topics": ["A"] if i % 2 else []}) for i in range(20)]
    path = tmp_path / "all.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    split(path, tmp_path / "out", "--label-key", "topics", "--shares", 1, 1, 0)
    parts = [
        (tmp_path / "out" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        for name in ("train", "dev")
    ]
    assert sorted(sum(parts, [])) == sorted(lines)
    assert [sum('"A"' in line for line in part) for part in parts] == [5, 5]
    assert not (tmp_path / "out/test.jsonl").exists()
    for part in parts:
        assert part == [line for line in lines if line in part]


def test_texts_of_an_annotation_tool_are_split_by_the_labels_of_their_entities(split, tmp_path):
    texts = [
        AnnotatedText(f"Ada {n}", [Annotation("AB"[n % 4 == 0], 0, 3)], None, None, "", {"id": n})
        for n in range(20)
    ]
    write_texts(texts, tmp_path / "all.jsonl", "doccano")
    split(tmp_path / "all.jsonl", tmp_path / "out", "--shares", 0.6, 0.2, 0.2)
    parts = [
        list(read_texts(tmp_path / "out" / f"{name}.jsonl")) for name in ("train", "dev", "test")
    ]
    assert [len(part) for part in parts] == [12, 4, 4]
    assert [sum(text.entities[0].label == "B" for text in part) for part in parts] == [3, 1, 1]
    found = {text.properties["id"]: (text.text, text.entities) for part in parts for text in part}
    assert found == {n: (text.text, text.entities) for n, text in enumerate(texts)}


def test_a_token_may_have_several_labels_and_unknown_ones_do_not_count(tmp_path):
    path = tmp_path / "all.txt"
    path.write_text("a A|B\nb ?\n\nc A|?B\n\nd O\n")
    items = read_column_file(path, label_separator="|", unknown_tag="?")
    assert [item.labels for item in items] == [{"A", "B"}, {"A"}, set()]


def test_files_that_are_there_stay_untouched(split, tmp_path):
    (tmp_path / "dev.txt").write_text("mine")
    with pytest.raises(SystemExit, match="^split: .*dev.txt is there already"):
        split(TOY, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["dev.txt"]
    assert (tmp_path / "dev.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a O\nb\n", [], "all.txt:2: expected 2 columns"),
        ("a O\n", ["--tag-column", 2], r"all.txt:1: expected tags in column 2, got \['a', 'O'\]"),
        ("a O\n", ["--shares", 1, -1, 0], "`shares` must hold a number above 0"),
        ('{"a": []}\n[]\n', ["--label-key", "a"], "all.txt:2: expected a JSON object.*under 'a'"),
        ('{"a": "A"}', ["--label-key", "a"], "all.txt:1: expected a JSON object"),
        ("\n", ["--label-key", "a"], "all.txt: expected a JSON object on each line, got none"),
    ],
)
def test_what_cannot_be_split_is_named(text, options, message, split, tmp_path):
    path = tmp_path / "all.txt"
    path.write_text(text)
    with pytest.raises(SystemExit, match=message):
        split(path, tmp_path / "out", *options)
    assert not (tmp_path / "out").exists()
