"""Heads import one another without a circle, also for types alone and inside functions."""

import ast
from graphlib import TopologicalSorter

from tests.conftest import ROOT

PACKAGE = "tagger.modules.heads"


def test_heads_import_one_another_without_a_circle():
    files = {
        f"{PACKAGE}.{path.stem}": path for path in (ROOT / "tagger/modules/heads").glob("*.py")
    }
    del files[f"{PACKAGE}.__init__"]
    imported = {
        name: {
            module
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGE)
            for module in (node.module, *(f"{node.module}.{each.name}" for each in node.names))
            if module in files or module == PACKAGE
        }
        for name, path in files.items()
    }
    assert sum(map(len, imported.values())) > 10
    # The package's own names come from all of these files.
    assert not any(PACKAGE in modules for modules in imported.values())
    TopologicalSorter(imported).prepare()
