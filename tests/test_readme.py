"""What the README shows is what happens, and the documents name files that exist."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCUMENTS = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md"))


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def run(block, folder, **environment):
    """What a block of commands prints."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block],
        cwd=folder,
        env={**os.environ, "PATH": path, **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    return done.stdout


@pytest.mark.parametrize("block", blocks("python"))
def test_python_runs(block):
    exec(compile(block, "README.md", "exec"), {})


@pytest.mark.slow
@pytest.mark.usefixtures("warm_python")
def test_commands_that_need_only_this_project_run(tmp_path):
    (block,) = (block for block in blocks("bash") if "data/toy" in block)
    for folder in ("training_config", "data"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    assert '"tokens": ["Maria", "Lindqvist", "met"' in run(block, tmp_path)
    assert (tmp_path / "runs/toy/model.tar.gz").exists()


def test_config_is_shown_as_it_is():
    config = (ROOT / "training_config/us_addresses_bilstm_crf.jsonnet").read_text()
    assert config in README


@pytest.mark.parametrize(
    "path", sorted(set(re.findall(r"[\w./]+/[\w.]+\.(?:sh|py|jsonnet|md)", README + DOCUMENTS)))
)
def test_files_it_names_exist(path):
    assert (ROOT / path).exists()
