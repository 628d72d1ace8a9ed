"""The oldest and the newest Python that are supported, from an installation to a prediction.

    PATH=/path/to/python3.13/bin:$PATH pytest tests/system/test_pythons.py -s

It needs a package index, and a few minutes for each Python.
"""

import json
import shutil
import subprocess
import sys

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.system
PYTHONS = ["python3.11", "python3.13"]


def is_another(python):
    """Whether this Python is installed, and is not the one that runs the tests."""
    if shutil.which(python) is None:
        return False
    asked = [python, "-c", "import sys; print(*sys.version_info[:2], sep='.')"]
    answer = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
    return (
        f"python{answer}" == python and tuple(map(int, answer.split("."))) != sys.version_info[:2]
    )


@pytest.mark.parametrize("python", PYTHONS)
def test_another_python_installs_trains_and_predicts(python, tmp_path, monkeypatch):
    if not is_another(python):
        pytest.skip(f"{python} is not installed, or runs these tests")
    monkeypatch.setenv("PYTHON", python)
    # Only what is installed may be imported.
    monkeypatch.delenv("PYTHONPATH", raising=False)
    clone = tmp_path / "clone"

    def run(*command, **options):
        done = subprocess.run(command, capture_output=True, text=True, **options)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run("git", "clone", "--quiet", str(ROOT), str(clone))
    run("scripts/install.sh", "--dev", cwd=clone)
    allennlp = str(clone / ".venv/bin/allennlp")
    archive = tmp_path / "run/model.tar.gz"
    config = "training_config/toy_bilstm_crf.jsonnet"
    run(allennlp, "train", config, "-s", str(archive.parent), cwd=clone)
    printed = run(allennlp, "predict", str(archive), "-", cwd=tmp_path, input="Ada is in Oslo.\n")
    (prediction,) = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
    assert len(prediction["tags"]) == len(prediction["tokens"]) == 5
