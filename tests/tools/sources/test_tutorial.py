"""The tutorial about annotators who disagree shows what its commands print."""

import shutil

import pytest

from tests.conftest import ROOT
from tests.notebooks import run


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_tutorial_merges_annotators_and_trains_on_them(tmp_path):
    for name in ("data/toy", "training_config"):
        shutil.copytree(ROOT / name, tmp_path / name)
    printed = ""
    for cell, shown in run("crowd", tmp_path):
        if cell.cell_type == "code":
            printed = "".join(output.get("text", "") for output in cell.outputs)
        for line in set(shown.splitlines()) - {"..."}:
            assert line in printed
    assert (tmp_path / "runs/crowd/model.tar.gz").exists()
