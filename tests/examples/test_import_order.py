"""Examples import `tagger` before PyTorch, which reads a variable that `tagger` sets."""

import re

import pytest

from tests.conftest import ROOT

PATHS = [
    path
    for path in sorted((ROOT / "examples").glob("*.py"))
    if re.search(r"^import torch$", path.read_text(), re.MULTILINE)
    and "__main__" in path.read_text()
]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.name)
def test_tagger_is_imported_before_torch(path):
    imports = re.findall(
        r"^(?:import|from) (tagger|torch|transformers)\b", path.read_text(), re.MULTILINE
    )
    assert imports[0] == "tagger"


def test_there_is_an_example():
    assert PATHS
