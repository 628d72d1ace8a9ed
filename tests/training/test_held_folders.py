"""A folder that one process writes is left alone by all others, whatever the command."""

import fcntl
import json
import os
import shutil

import pytest

from tests.allennlp_command import digests
from tests.conftest import CONFIGS, ROOT

TOY, DATA = CONFIGS / "toy_bilstm_crf.jsonnet", ROOT / "data/toy/train.txt"
STUDY = {"seeds": [1], "columns": [{"title": "F1", "metrics": ["best_validation_loss"]}]}
#: Everything that writes a folder over a long time; `ARCHIVE` and `STUDY` are files.
COMMANDS = {
    "train": ["train", TOY, "-s", "held"],
    "train --recover": ["train", TOY, "-s", "held", "--recover"],
    "train --force": ["train", TOY, "-s", "held", "--force"],
    "find-lr --force": ["find-lr", TOY, "-s", "held", "--force"],
    "study": ["study", "study.json", "-s", "held"],
    "ensemble": ["ensemble", TOY, "-s", "held", "-o", "joined.tar.gz"],
    "learning-curve": ["learning-curve", DATA, DATA, "-s", "held"],
    "find-label-errors": ["find-label-errors", DATA, "-o", "held"],
    "add-label": ["add-label", "ARCHIVE", DATA, "-s", "held"],
    "add-label --force": ["add-label", "ARCHIVE", DATA, "-s", "held", "--force"],
    "serve": ["serve", "ARCHIVE", "--label-studio", "held", "--train-data", DATA],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_folder_that_another_process_writes_is_refused_and_left_as_it_is(
    name, allennlp, trained, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "data/toy", "data/toy")
    shutil.copytree(trained, "held")
    (tmp_path / "study.json").write_text(json.dumps({**STUDY, "variants": {"plain": {"a": 1}}}))
    before = digests(tmp_path)
    archive = trained / "model.tar.gz"
    command = [archive if each == "ARCHIVE" else each for each in COMMANDS[name]]
    other = os.open("held", os.O_RDONLY)
    try:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(SystemExit) as raised:
            allennlp(*command)
    finally:
        os.close(other)
    said = str(raised.value) if str(raised.value) != "1" else capsys.readouterr().err
    assert "held is being written by another process; wait for it" in said
    assert digests(tmp_path) == before
