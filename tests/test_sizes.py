"""Limits on the size of functions, modules and parts of the project."""

import ast

import pytest

from tests.conftest import ROOT

#: Code for compilers, where function calls are expensive.
KERNELS = [ROOT / "tagger/linear_chain/cpu/kernels", ROOT / "tagger/linear_chain/cuda"]
SOURCES = {
    path.relative_to(ROOT): path.read_text()
    for folder in ("tagger", "tagger_compat", "tagger_onnx", "tagger_texts", "scripts", "examples")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if path.parent not in KERNELS
}


def test_functions_have_at_most_60_lines():
    assert len(SOURCES) > 250
    for path, source in SOURCES.items():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                assert node.end_lineno - node.lineno < 60, f"{path}:{node.lineno} {node.name}"


def test_modules_have_at_most_350_lines():
    for path, source in SOURCES.items():
        assert source.count("\n") <= 350, path


#: The maximum lines of Python in each part of the project, with the folders that belong to it. They are
#: multiples of `STEP`, so that most commits change none. A commit that needs more raises one by a step
#: and says why; one that leaves two steps free lowers it.
TOTALS = {
    # without tools and integrations
    "core": (43_500, ["tagger", "tagger_compat", "tagger_onnx", "tagger_texts"]),
    # what prepares data, studies and improves taggers
    "tools": (17_000, ["tagger/tools"]),
    # with other libraries
    "integrations": (6_250, ["tagger/integrations"]),
    # the whole folders
    "tests and scripts": (61_500, ["tests", "scripts"]),
}
STEP = 250


def num_lines(folders):
    paths = {path for folder in folders for path in (ROOT / folder).rglob("*.py")}
    return sum(path.read_text().count("\n") for path in paths)


@pytest.mark.parametrize("part", TOTALS)
def test_a_part_keeps_to_its_total(part):
    most, folders = TOTALS[part]
    num = num_lines(folders)
    if part == "core":
        num -= num_lines(["tagger/tools", "tagger/integrations"])
    assert most % STEP == 0
    assert most - 2 * STEP < num <= most


def test_tagger_has_at_most_15_entries():
    assert len([path for path in (ROOT / "tagger").iterdir() if path.name != "__pycache__"]) <= 15
