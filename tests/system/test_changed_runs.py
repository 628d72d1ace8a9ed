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

TOY = "mine.jsonnet"
#: A config that reads every kind of file.
CONFIG = """(import 'training_config/toy_bilstm_crf.jsonnet') + {
  glove_file:: 'vectors.txt', lexicons:: ['cities'], lexicon_folder:: '.',
  train_data_path: 'corpus.txt', validation_data_path: 'dev.txt',
}"""
FEW = json.dumps({"trainer.num_epochs": 2})
PREDICT = "predict-file model.tar.gz texts.txt -o out.jsonl --window 128"
FOLDS = f"--config {TOY} --folds 3 --workers 1 --overrides {FEW}"
#: The resumable commands, with a file pattern. They are killed once such a file has a line.
COMMANDS = {
    "train": (f"train {TOY} -s out", "out/training_state_e2_b0.th", "out/model.tar.gz"),
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


def reorder_input(folder):
    sentences = (folder / "corpus.txt").read_text().strip().split("\n\n")
    (folder / "corpus.txt").write_text("\n\n".join(reversed(sentences)) + "\n")


def shorten_development_data(folder):
    text = (folder / "dev.txt").read_text()
    (folder / "dev.txt").write_text(text[: text.rstrip().rindex("\n\n")] + "\n")


def change_vectors(folder):
    (folder / "vectors.txt").write_text((folder / "vectors.txt").read_text().replace("0.5", "0.6"))


def change_list(folder):
    (folder / "cities.txt").write_text("Oslo\n")


CHANGES = [
    *(change_archive, change_input, reorder_input, shorten_development_data, change_vectors),
    change_list,
]
#: The commands that read only an archive and texts.
OF_ARCHIVES = ("predict-file", "predict-file, ray", "soft-labels", "rank-unlabelled")


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
    for name, made in (("train", "corpus"), ("dev", "dev")):
        text = (ROOT / f"data/toy/{name}.txt").read_text()
        (tmp_path / f"{made}.txt").write_text(text.replace("-EVENT\n", "-NEW\n"))
    vectors = (f"{word} {'0.5 ' * 19}{number}\n" for number, word in enumerate(("in", "met")))
    (tmp_path / "vectors.txt").write_text("".join(vectors))
    (tmp_path / "cities.txt").write_text("Lisbon\n")
    (tmp_path / TOY).write_text(CONFIG)
    config = Params.from_file(tmp_path / TOY).as_dict(quiet=True)
    config["trainer"]["num_epochs"] = 2
    columns = [{"title": "F1", "metrics": ["best_validation_f1-measure-overall"]}]
    study = {"variants": {"plain": config}, "seeds": [1, 2, 3], "columns": columns}
    (tmp_path / "study.json").write_text(json.dumps(study))
    return tmp_path


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_killed_command_never_mixes_two_archives_or_inputs(name, change, folder):
    if change is change_archive and name in ("find-label-errors", "study", "train"):
        pytest.skip("it reads no archive")
    if change not in (change_archive, change_input) and name in (*OF_ARCHIVES, "add-label"):
        pytest.skip("it reads no such file")
    if change is shorten_development_data and name == "find-label-errors":
        pytest.skip("it reads no development data")
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
    if name == "train":
        command.append("--recover")
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
