"""A fault of Triton up to 3.9 at least, which compiled kernels show and interpreted ones do not."""

import ast

import pytest

from tests.conftest import ROOT

SOURCES = sorted((ROOT / "tagger/linear_chain/cuda").glob("*.py"))


def bare_assignments(node):
    """Yields `(target, source)` for each assignment of one name to another below the node."""
    for each in ast.walk(node):
        if isinstance(each, ast.Assign) and isinstance(each.value, ast.Name):
            yield from ((name.id, each.value.id) for name in each.targets)


def lost_assignments(function):
    """Returns names that a loop sets to another variable of the loop, and that had its value before.

    Triton compares values before and after a pass through the loop to find the variables that the loop
    changes. In `a = b` before `for ...: a = b; b = b + 1`, both are the value of `b` at the start, so
    it takes `a` for unchanged, and its uses after the loop see the value from before.
    """
    lost = []
    for loop in ast.walk(function):
        if not isinstance(loop, (ast.For, ast.While)):
            continue
        before = values_before(loop, function)
        aliases = dict(bare_assignments(loop))
        for name, source in aliases.items():
            for _ in aliases:
                source = source if source in before else aliases.get(source, source)
            if name != source and name in before and before[name] == before.get(source):
                lost.append(f"{name} = {source} in line {loop.lineno}")
    return lost


def values_before(loop, function):
    """Returns what tells the values of the variables before a loop apart."""
    values = {argument.arg: argument.arg for argument in function.args.args}
    stored = [
        node
        for node in ast.walk(function)
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.For)) and node.lineno < loop.lineno
    ]
    for node in sorted(stored, key=lambda each: each.lineno):
        source = getattr(node, "value", None)
        for name in ast.walk(node):
            if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store):
                is_copy = isinstance(node, ast.Assign) and isinstance(source, ast.Name)
                values[name.id] = values.get(source.id) if is_copy else f"{name.id} {node.lineno}"
    return values


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_no_kernel_has_an_assignment_that_triton_loses(path):
    for function in ast.walk(ast.parse(path.read_text())):
        if isinstance(function, ast.FunctionDef):
            assert not lost_assignments(function), function.name


@pytest.mark.parametrize("inside", ["last = total", "copy = total; last = copy"])
def test_such_an_assignment_is_found(inside):
    source = f"""
def kernel(n):
    total = n
    last = total
    for i in range(n):
        {inside}
        total = total + i
    return last
"""
    (function,) = ast.parse(source).body
    assert lost_assignments(function) == ["last = total in line 5"]
