"""The sizes at which one looks for the second thing that hides inside."""

import ast

from tests.conftest import ROOT

#: What a compiler reads, where calls cost.
KERNELS = [ROOT / "tagger/linear_chain/cpu/kernels", ROOT / "tagger/linear_chain/cuda"]
SOURCES = {
    path.relative_to(ROOT): path.read_text()
    for folder in ("tagger", "tagger_compat", "tagger_onnx", "scripts", "examples")
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
