"""What `train` reports when the files of a run are damaged or the disk is full."""

import json
import shutil
import sys

import pytest
import torch

from tagger.common.version import __version__
from tagger.training.run_inputs import PACKAGE
from tests.allennlp_command import run_command
from tests.conftest import ROOT

#: Runs `allennlp` with a limit of 20 kB on every file, which acts like a full disk.
ALLENNLP_ON_A_FULL_DISK = (
    "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000)); "
    "from allennlp.__main__ import run; sys.argv[0] = 'allennlp'; run()"
)


def halved(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def other(path):
    torch.save({"a": torch.ones(1)}, path)


def with_swapped_labels(path):
    *others, one, other = path.read_text().splitlines()
    path.write_text("\n".join([*others, other, one]) + "\n")


def of_another_version(path):
    read = json.loads(path.read_text())
    assert read[PACKAGE] == __version__
    path.write_text(json.dumps({**read, PACKAGE: "0.0.1"}))


@pytest.fixture
def killed(trained, tmp_path):
    """The folder of a run killed before it wrote its metrics."""
    folder = tmp_path / "run"
    shutil.copytree(trained, folder)
    for name in ("metrics.json", "model.tar.gz"):
        (folder / name).unlink(missing_ok=True)
    return folder


@pytest.mark.parametrize(
    ("name", "damage", "said"),
    [
        ("training_state_*.th", halved, "is damaged"),
        ("model_state_*.th", lambda path: path.write_bytes(b""), "is damaged"),
        ("training_state_*.th", other, "does not fit this run"),
        ("config.json", halved, "config.json"),
        ("vocabulary/labels.txt", with_swapped_labels, "vocabulary has changed since"),
        ("inputs.json", of_another_version, "the package tagger has changed since"),
    ],
)
def test_a_damaged_file_of_a_run_is_a_one_line_error(name, damage, said, killed, run_here):
    damage(next(killed.glob(name)))
    recover = ["train", str(killed / "config.json"), "-s", str(killed), "--recover"]
    outcome = run_here(recover, ROOT)
    assert outcome.status == 1
    assert not outcome.has_traceback
    assert outcome.last_line.startswith("allennlp: ")
    assert said in outcome.last_line


@pytest.mark.usefixtures("warm_python")
def test_a_full_disk_is_a_one_line_error_and_the_run_can_be_resumed(tmp_path, run_here):
    toy, folder = str(ROOT / "training_config/toy_bilstm_crf.jsonnet"), tmp_path / "run"
    train = ["train", toy, "-s", str(folder), "-o", '{"trainer.num_epochs": 1}']
    full = [sys.executable, "-c", ALLENNLP_ON_A_FULL_DISK]
    outcome = run_command(train, ROOT, program=full)
    assert outcome.status == 1
    assert not outcome.has_traceback
    assert outcome.last_line.endswith(
        "make room on the disk, and repeat the command with --recover"
    )
    assert run_here([*train, "--recover"], ROOT).status == 0
    assert (folder / "model.tar.gz").exists()
