import json

import pytest

from tagger.tools.labels.issues import LabelIssue, _reading
from tests.conftest import CONFIGS, ROOT

TOY = ROOT / "data/toy/train.txt"


@pytest.mark.slow
@pytest.mark.usefixtures("warm_python")
def test_it_trains_on_folds_once_and_corrects(allennlp, at_root, tmp_path, capsys, monkeypatch):
    # `test_errors.py` checks the probabilities.
    monkeypatch.setattr("tagger.tools.labels.errors._MOST_COPIES", 2)
    out = tmp_path / "out"
    config = CONFIGS / "toy_bilstm_crf.jsonnet"
    small = json.dumps({"trainer.num_epochs": 1})
    command = ("find-label-errors", TOY, "--config", config, "-o", out, "--folds", 2)
    command = (*command, "--overrides", small, "--least", 0)
    allennlp(*command)
    said = capsys.readouterr().out
    assert "2 runs, of which 0 are finished" in said
    assert {path.name for path in out.iterdir()} == {
        *("folds", "runs", "errors.html", "errors.jsonl", "errors.csv", "sentences.csv")
    }
    allennlp(*command, "--accept-first", 1, "--leave-open", 1)
    assert "2 runs, of which 2 are finished" in capsys.readouterr().out
    first = json.loads((out / "errors.jsonl").read_text().splitlines()[0])
    lines, corrected, left_open = (
        path.read_text().splitlines() for path in (TOY, out / "corrected.txt", out / "open.txt")
    )
    changed = {str(i + 1): new for i, (old, new) in enumerate(zip(lines, corrected)) if old != new}
    assert (changed, left_open) == (first["edits"], lines)


@pytest.mark.usefixtures("at_root")
def test_taggers_that_know_the_truth_find_a_synthetic_error(allennlp, trained, tmp_path):
    lines = (ROOT / "data/toy/dev.txt").read_text().splitlines()
    at = next(i for i, line in enumerate(lines) if line.endswith(" B-PER"))
    lines[at] = lines[at].replace("B-PER", "B-ORG")
    lines[at + 1] = lines[at + 1].replace("I-PER", "I-ORG")
    wrong, archive = tmp_path / "wrong.txt", trained / "model.tar.gz"
    wrong.write_text("\n".join(lines) + "\n")
    allennlp("find-label-errors", wrong, "--taggers", archive, "-o", tmp_path)
    first = json.loads((tmp_path / "errors.jsonl").read_text().splitlines()[0])
    assert (first["line"], first["kind"]) == (at + 1, "wrong label")


@pytest.mark.parametrize(
    ("tokens", "shown"),
    [
        ([*"他在北京大学工作。"], "他在北京大学工作。"),
        ("It is in New York City now , Ada .".split(), "It is in New York City now , Ada ."),
    ],
)
@pytest.mark.parametrize("place", [(0, 1), (2, 3), (4, 6), (8, 8)])
def test_the_page_shows_the_words_as_their_script_is_written(tokens, shown, place):
    issue = LabelIssue(1, 1, 1, "spurious", 0.9, ("LOC", place), None, 0.9, tokens, [1, 1], {})
    labelled, suggested = (_reading(issue, span, False) for span in (issue.labelled, None))
    parts = [labelled[name] for name in ("before", "text", "after")]
    assert "".join(parts) == suggested["before"] == shown
    assert parts[1] in shown
