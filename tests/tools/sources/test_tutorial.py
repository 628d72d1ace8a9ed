"""The tutorial about annotators who disagree shows what its commands print."""

import shutil

import pytest

from tests.conftest import ROOT
from tests.pages import check_page


@pytest.mark.slow
@pytest.mark.usefixtures("warm_python")
def test_the_tutorial_merges_annotators_and_trains_on_them(tmp_path, monkeypatch):
    for name in ("data/toy", "training_config"):
        shutil.copytree(ROOT / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    check_page("tutorial/crowd")
    assert (tmp_path / "runs/crowd/model.tar.gz").exists()
