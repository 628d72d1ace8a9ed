"""The commands of the tutorial, in order, print what it shows. It needs data/us_addresses."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.test_readme import BLOCK, DOCS

pytestmark = pytest.mark.system
NUMBER = re.compile(r"\d+(?:\.\d+)?")
CORPUS = next(
    (
        folder
        for folder in (Path(os.environ.get("TAGGER_CORPORA", "")), ROOT / "data")
        if (folder / "us_addresses/train.txt").exists()
    ),
    None,
)


@pytest.mark.skipif(
    CORPUS is None, reason="python scripts/prepare_us_addresses.py fetches the data"
)
def test_the_tutorial_does_what_it_shows(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/addresses").symlink_to(CORPUS / "us_addresses")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
    printed = ""
    for language, block in BLOCK.findall(DOCS["us_addresses"]):
        if language == "bash" and "prepare_us_addresses" not in block:
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", block],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
            )
            assert done.returncode == 0, done.stderr[-2_000:]
            printed = NUMBER.sub("#", done.stdout)
        elif language == "" and "B-StreetName" not in block:
            # Digits differ between processors.
            for line in block.splitlines():
                assert NUMBER.sub("#", line) in printed
    assert (tmp_path / "addresses.onnx").exists()
    assert (tmp_path / "new.jsonl").read_text().count("\n") == 2
