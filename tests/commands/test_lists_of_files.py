"""Commands read lists of files that each annotate some of the labels."""

import json
import re
from pathlib import Path

import pytest
from allennlp.common import Params
from allennlp.data import DatasetReader

from tagger.tools.start.start import start
from tests.conftest import ROOT


@pytest.fixture
def both(tmp_path):
    """Half of the toy corpus annotates LOC and PER, the other half ORG."""
    text = (ROOT / "data/toy/train.txt").read_text().strip().split("\n\n")
    for name, own in {"a": text[::2], "b": text[1::2]}.items():
        (tmp_path / f"{name}.txt").write_text("\n\n".join(own) + "\n")
    files = [{"path": "a.txt", "labels": ["LOC", "PER"]}, {"path": "b.txt", "labels": ["ORG"]}]
    path = tmp_path / "both.files.json"
    path.write_text(json.dumps({"files": files}))
    return path


def spans_gold(table):
    return {
        match[1]: int(match[2])
        for match in re.finditer(r"(?m)^(\w+) .* (\d+)$", table.split("\n\n")[0])
    }


@pytest.mark.usefixtures("at_root")
def test_evaluate_scores_each_file_by_its_labels_and_then_all_together(
    both, allennlp, trained, tmp_path, capsys
):
    archive, output = trained / "model.tar.gz", tmp_path / "metrics.json"
    allennlp("evaluate", archive, both, "--output-file", output)
    printed = re.split("(?m)^Metrics", capsys.readouterr().out)[1:]
    titles = [f" on {both.parent}/a.txt (LOC, PER)", f" on {both.parent}/b.txt (ORG)", ""]
    assert [each.split("\n")[0] for each in printed] == titles
    of_a, of_b, of_both = (spans_gold(each.partition("\n")[2]) for each in printed)
    assert of_a["ORG"] == of_b["LOC"] == of_b["PER"] == 0
    assert min(of_a["LOC"], of_a["PER"], of_b["ORG"]) > 0
    assert of_both == {label: of_a[label] + of_b[label] for label in of_a}
    metrics = json.loads(output.read_text())
    assert metrics["num-gold-overall"] == of_both["overall"]
    # The tagger finds ORG in a.txt too, but nobody has looked for it there.
    assert metrics["num-predicted-overall"] < 1.2 * of_both["overall"]


def test_the_parts_of_a_list_are_lists(both, allennlp, tmp_path, capsys):
    allennlp("split", both, tmp_path / "parts", "--shares", 0.5, 0.5, 0)
    assert "Wrote train.files.json, dev.files.json to" in capsys.readouterr().out
    counts = {}
    for name in ("train", "dev"):
        listed = json.loads((tmp_path / f"parts/{name}.files.json").read_text())["files"]
        assert [each["labels"] for each in listed] == [["LOC", "PER"], ["ORG"]]
        texts = [(tmp_path / "parts" / each["path"]).read_text() for each in listed]
        counts[name] = [text.count("\n\n") for text in texts]
    wholes = [(both.parent / name).read_text().count("\n\n") + 1 for name in ("a.txt", "b.txt")]
    assert [sum(each) for each in zip(*counts.values())] == wholes
    assert min(*counts["train"], *counts["dev"]) > 0
    with pytest.raises(SystemExit, match="train.files.json is there already"):
        allennlp("split", both, tmp_path / "parts")


@pytest.mark.parametrize("with_dev", [False, True])
def test_start_reads_a_list_and_splits_each_of_its_files(with_dev, both, tmp_path):
    output = tmp_path / "mine.jsonnet"
    started = start([both, *([both] if with_dev else [])], output)
    said = "\n".join(started.said)
    assert f"{both.parent}/a.txt (LOC, PER)" in said
    ours = said[said.index("b.txt (ORG)") :]
    assert re.search(r"labels +1, by spans: ORG", ours)
    for path, text in started.files.items():
        path.write_text(text)
    config = Params.from_file(output).as_dict(quiet=True)
    names = ("train", "validation")
    lists = [json.loads(Path(config[f"{name}_data_path"]).read_text())["files"] for name in names]
    assert [[each["labels"] for each in own] for own in lists] == 2 * [[["LOC", "PER"], ["ORG"]]]
    assert len(started.files) == (1 if with_dev else 7)
    reader = DatasetReader.from_params(Params(config["dataset_reader"]))
    numbers = [len(list(reader.read(config[f"{name}_data_path"]))) for name in names]
    whole = len(list(reader.read(both)))
    assert sum(numbers) == (2 * whole if with_dev else whole)
    assert "labels that" not in said
    documents = reader.documents_in(both)
    assert documents is None or len(documents.of_item) == whole
