"""Modules import one another without a circle, also for types alone and inside functions."""

import ast
from graphlib import TopologicalSorter

from tests.conftest import ROOT


def test_modules_import_one_another_without_a_circle_and_none_the_front_door():
    paths = [
        path for name in ("", "_texts", "_onnx") for path in ROOT.glob(f"tagger{name}/**/*.py")
    ]
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in paths]
    modules = {name.removesuffix(".__init__"): path for name, path in zip(names, paths)}
    imported = {name: {*imports_of(path, modules)} - {name} for name, path in modules.items()}
    assert sum(map(len, imported.values())) > 1000
    assert [name for name, found in imported.items() if "tagger" in found] == []
    TopologicalSorter(imported).prepare()


def imports_of(path, modules):
    """Yields the modules that a file imports, and the packages that it takes other names from."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            own = (f"{node.module}.{each.name}" for each in node.names)
            yield from {each if each in modules else node.module for each in own} & modules.keys()
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name in modules)
