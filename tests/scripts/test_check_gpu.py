"""The GPU check, run on a CPU at the smallest sizes: every part runs and the report is right."""

import json

import pytest

from scripts.experiments import check_gpu
from scripts.experiments.check_gpu import PARTS
from scripts.experiments.gpu_check import crf, report, training
from scripts.experiments.gpu_check.measuring import Options
from tests.configs import save_small_transformer

TINY = Options("cpu", is_tiny=True, seconds=0.01)
COLUMNS = "Anna NNP I-NP I-PER\nwent VBD I-VP O\n\nKeller NNP I-NP I-PER\nleft VBD I-VP O\n\n"
QUICK = ["--device", "cpu", "--sizes", "tiny", "--output"]


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Tiny corpora and a tiny transformer in the places that the configs name."""
    monkeypatch.chdir(tmp_path)
    for folder in ("conll2003", "reuters", "all-MiniLM-L6-v2", "glove"):
        (tmp_path / "data" / folder).mkdir(parents=True)
    (tmp_path / "data/glove/glove.6B.50d.txt").write_text("anna" + 50 * " 0.5" + "\n")
    for name in ("eng.train", "eng.testa", "eng.testb"):
        (tmp_path / "data/conll2003" / name).write_text(2 * COLUMNS)
    texts = [{"title": f"a {label}", "text": "a b", "labels": [label]} for label in "xyxy"]
    (tmp_path / "data/reuters/train.jsonl").write_text("\n".join(map(json.dumps, texts)))
    save_small_transformer(tmp_path / "data/all-MiniLM-L6-v2", size=4)
    return tmp_path / "data"


#: Run by the system tests.
SLOW_PARTS = ("kernels", "tagger")


#: `test_the_command_writes_what_its_worker_measured` runs it.
BY_COMMAND = "weightings"


@pytest.mark.parametrize(
    "name", sorted(PARTS.keys() - {"memory", "tests", BY_COMMAND, *SLOW_PARTS})
)
@pytest.mark.usefixtures("data")
def test_a_part_runs(name, monkeypatch):
    if name == "processes":
        monkeypatch.setattr(crf, "_side_by_side", in_this_process)
    check_part(name)


def check_part(name):
    kept = check_gpu.run_part(name, TINY)
    assert kept["status"] == "done", kept["reason"]
    assert not any("error" in row for row in kept["results"].get("rows", []))
    json.dumps(kept)
    assert f"## {name}: done" in report.markdown({name: kept}, [])


def in_this_process(options, number):
    found, nothing = [], type("Barrier", (), {"wait": lambda self, timeout: None})()
    queue = type("Queue", (), {"put": lambda self, item: found.append(item)})()
    for _ in range(number):
        crf._descend(options, queue, nothing)
    return found


def test_parts_with_missing_data_are_skipped_with_a_reason(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("tagger", "training", "precision", "finetuning", "reuters", "prediction"):
        kept = check_gpu.run_part(name, TINY)
        assert kept["status"] == "skipped"
        assert "is missing: run " in kept["reason"]


def test_finished_parts_are_not_run_again(tmp_path, monkeypatch, capsys):
    runs = []

    def run(name, folder, arguments, limit):
        runs.append(name)
        status = "failed" if name == "memory" else "done"
        kept = {"part": name, "status": status, "reason": "why", "seconds": 1, "results": {}}
        kept["options"] = Options("cpu", is_tiny=True)._asdict()
        check_gpu.write(folder / f"{name}.json", kept)

    monkeypatch.setattr(check_gpu, "run_in_process", run)
    assert check_gpu.main(["crf", "memory", *QUICK, str(tmp_path)]) == 1
    assert runs == ["crf-small", "crf-medium", "crf-large", "crf-long", "memory"]
    check_gpu.main(["crf-small", "memory", *QUICK, str(tmp_path)])
    assert runs[5:] == ["memory"]
    check_gpu.main(["crf-small", "--again", *QUICK, str(tmp_path)])
    assert runs[6:] == ["crf-small"]
    check_gpu.main(["crf-small", "--device", "cpu", "--output", str(tmp_path)])
    assert runs[7:] == ["crf-small"]  # Other sizes have no results yet.
    halves = [part for half in check_gpu.HALVES.values() for part in half]
    assert len({*halves}) == len(halves)
    assert {*halves} < {*PARTS}
    written = json.loads((tmp_path / "report.json").read_text())
    assert set(written["parts"]) == set(runs)
    assert "## memory: failed\n\n```\nwhy" in (tmp_path / "report.md").read_text()


def test_a_part_that_is_stopped_or_crashes_is_reported(tmp_path, monkeypatch):
    program = tmp_path / "program"
    monkeypatch.setattr(check_gpu.sys, "executable", str(program))
    for script, reason in (("sleep 60 & wait", "stopped after 0"), ("exit 3", "ended with code 3")):
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        check_gpu.run_in_process("weightings", tmp_path, [], limit=0.3)
        kept = json.loads((tmp_path / "weightings.json").read_text())
        assert kept["status"] == "failed"
        assert reason in kept["reason"]


def test_the_command_writes_what_its_worker_measured(tmp_path, data, warm_python, capsys):
    # Longer than usual, because the tests may share a busy machine.
    assert check_gpu.main([BY_COMMAND, *QUICK, str(tmp_path / "out"), "--limit", "600"]) == 0
    kept = json.loads((tmp_path / f"out/{BY_COMMAND}.json").read_text())
    assert kept["environment"]["device"] == "CPU"
    rows = kept["results"]["rows"]
    assert len(rows) == 16
    assert not any("error" in row for row in rows)
    assert "| weighting |" in (tmp_path / "out/report.md").read_text()


def test_without_cuda_the_command_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(SystemExit, match="finds no CUDA device; install a CUDA build"):
        check_gpu.main(["--output", str(tmp_path)])
    with pytest.raises(SystemExit):
        check_gpu.main(["nonsense", *QUICK, str(tmp_path)])


def test_results_are_compared_with_goals():
    def row(candidate, seconds):
        tasks = ("loss+gradient", "viterbi", "decoding")
        return {"candidate": candidate, **{task: {"median": seconds} for task in tasks}}

    rows = [row("ours", 1.0), row("AllenNLP", 150.0)]
    at_shape = {"copy": {"median": 0.2}, "rows": rows}
    epochs = [{"batch": 32, "epoch": 5.0}, {"batch": 128, "epoch": 2.5}]
    results = {"crf-medium": at_shape, "crf-large": at_shape, "training": {"rows": epochs}}
    full = {"status": "done", "options": Options()._asdict()}
    kept = {name: {**full, "results": each} for name, each in results.items()}
    goals = report.judged({**kept, "memory": {"status": "failed"}})
    met = [goal.is_met for goal in goals]
    assert met == [True, True, False, False, None, True, False, None, None]
    assert goals[2].value == pytest.approx(5)
    assert "**fell short**" in report.markdown({}, goals)
    tiny = {name: {**each, "options": TINY._asdict()} for name, each in kept.items()}
    assert {goal.is_met for goal in report.judged(tiny)} == {None}


def test_every_loss_of_several_labels_is_measured():
    from tagger.modules.multi_label_losses import MultiLabelLoss

    assert set(training.LOSSES) == set(MultiLabelLoss.list_available())
