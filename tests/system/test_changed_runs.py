"""Killed commands that are repeated with another archive or input restart or refuse."""

import json
import shutil
import signal
import time

import pytest
from allennlp.common import Params

from tests.allennlp_command import run_command
from tests.conftest import ROOT
from tests.system.archives import write_archive
from tests.system.interrupts import (
    Moment,
    break_off,
    copy_toy,
    lines_of_texts,
    with_swapped_labels,
)

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("warm_python")]

TOY = "training_config/toy_bilstm_crf.jsonnet"
FEW = json.dumps({"trainer.num_epochs": 2})
PREDICT = "predict-file model.tar.gz texts.txt -o out.jsonl --window 128"
FOLDS = f"--config {TOY} --folds 3 --workers 1 --overrides {FEW}"
#: The resumable commands, with a file pattern. They are killed once such a file has a line.
COMMANDS = {
    "predict-file": (PREDICT, ".out.jsonl.predict-file/0*", "out.jsonl"),
    "predict-file, ray": (f"{PREDICT} --ray", "out.jsonl.unfinished/0*", "out.jsonl"),
    "soft-labels": ("soft-labels model.tar.gz texts.txt -o out.npz --format text", "", "out.npz"),
    "rank-unlabelled": (
        *("rank-unlabelled model.tar.gz texts.txt -o out.jsonl --budget 90", "", "out.jsonl"),
    ),
    "find-label-errors": (
        f"find-label-errors corpus.txt -o out {FOLDS}",
        *("out/runs/*/*/job.json", "out/errors.jsonl"),
    ),
    "study": ("study study.json -s out --workers 1", "out/runs/*/*/job.json", "out/results.csv"),
    "add-label": (
        f"add-label model.tar.gz corpus.txt -s out --no-bias -o {FEW}",
        *("out/metrics_epoch_0.json", "out/model.tar.gz"),
    ),
}
REFUSALS = (
    *("begun by a run with another", "has changed since", "holds another run"),
    "differs from the input of the unfinished run",
)


def change_archive(folder):
    shutil.copy(folder / "model.tar.gz", folder / "before.tar.gz")
    write_archive(folder / "before.tar.gz", folder / "model.tar.gz", contents=with_swapped_labels)


def change_input(folder):
    for name in ("texts.txt", "corpus.txt"):
        lines = (folder / name).read_text().splitlines(keepends=True)
        (folder / name).write_text("".join(["Lisbon O\n\n", *lines]))


def has_written(folder, pattern):
    """Whether the files that match a pattern have a line, or are several."""
    if not pattern:
        return True
    contents = [path.read_bytes() for path in folder.glob(pattern) if path.is_file()]
    return len(contents) > 1 or any(b"\n" in content for content in contents)


@pytest.fixture
def folder(trained, tmp_path):
    copy_toy(tmp_path)
    shutil.copy(trained / "model.tar.gz", tmp_path)
    (tmp_path / "texts.txt").write_text(lines_of_texts(3_000))
    text = (ROOT / "data/toy/train.txt").read_text()
    (tmp_path / "corpus.txt").write_text(text.replace("-EVENT\n", "-NEW\n"))
    config = Params.from_file(tmp_path / TOY).as_dict(quiet=True)
    config.update(train_data_path="corpus.txt", validation_data_path="corpus.txt")
    config["trainer"]["num_epochs"] = 2
    columns = [{"title": "F1", "metrics": ["best_validation_f1-measure-overall"]}]
    study = {"variants": {"plain": config}, "seeds": [1, 2, 3], "columns": columns}
    (tmp_path / "study.json").write_text(json.dumps(study))
    return tmp_path


@pytest.mark.parametrize("change", [change_archive, change_input])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_killed_command_never_mixes_two_archives_or_inputs(name, change, folder):
    if change is change_archive and name in ("find-label-errors", "study"):
        pytest.skip("it reads no archive")
    if name.endswith("ray"):
        pytest.importorskip("ray")
    line, pattern, made = COMMANDS[name]
    command = [word.replace("FEW", FEW) for word in line.replace(FEW, "FEW").split()]
    delay = 0 if pattern else 0.5
    moment = Moment("midway", lambda path: has_written(path, pattern), delay)
    status = break_off(command, folder, folder, moment, signal.SIGKILL).status
    assert status == -signal.SIGKILL, "it ended too early"
    if name.endswith("ray"):
        time.sleep(5)  # Until its workers notice that it is gone.
    change(folder)
    outcome = run_command(command, folder)
    if outcome.status:
        assert not (folder / made).exists()
        assert not outcome.has_traceback
        assert any(each in outcome.last_line for each in REFUSALS)
        return
    # It restarted.
    found = (folder / made).read_bytes()
    (folder / made).unlink()
    assert run_command(command, folder).status == 0
    assert (folder / made).read_bytes() == found
