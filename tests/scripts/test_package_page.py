"""The package page on an index has no dead links."""

import re
import runpy
from pathlib import Path

import pytest

from tests.conftest import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
RELATIVE = re.compile(r"\]\((?!https?:)")


@pytest.fixture
def text_for_index():
    return runpy.run_path(str(ROOT / "setup.py"))["text_for_index"]


def test_links_of_a_release_lead_to_its_files(text_for_index):
    text = text_for_index(README, "https://host/us/tagger/{}/v1")
    assert RELATIVE.search(README)
    assert not RELATIVE.search(text)
    assert "![A report on a training run](https://host/us/tagger/raw/v1/docs/images/" in text
    paths = re.findall(r"https://host/us/tagger/(?:blob|raw)/v1/([^)#]+)", text)
    assert len(paths) > 20
    assert all(Path(ROOT, path).exists() for path in paths)


def test_without_an_address_there_are_no_links(text_for_index):
    text = text_for_index(README, "")
    assert not RELATIVE.search(text)
    assert "The tutorial does the same step by step." in " ".join(text.split())
