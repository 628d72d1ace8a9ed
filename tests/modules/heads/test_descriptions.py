"""Heads answer for themselves: nobody else asks for the class of a head."""

import ast
import importlib

import pytest

from tagger.modules.heads import TaggingHead
from tests.conftest import ROOT

PACKAGES = ("tagger", "tagger_compat", "tagger_onnx", "tagger_texts")
MODULES = [
    path
    for package in PACKAGES
    for path in sorted((ROOT / package).rglob("*.py"))
    if ROOT / "tagger/modules/heads" not in path.parents
]


def heads_asked_for(source):
    """The classes of heads that a module asks for, under any name."""
    tree = ast.parse(source)
    imported, assigned = _imported(tree), _assigned(tree)
    found = set()

    def look(expression, seen=()):
        for node in ast.walk(expression):
            dotted = ast.unparse(node) if isinstance(node, (ast.Name, ast.Attribute)) else ""
            first, *rest = dotted.split(".")
            if first in imported:
                found.update(_heads_in(_resolved(".".join([imported[first], *rest]))))
            elif dotted in assigned and dotted not in seen:
                look(assigned[dotted], (*seen, dotted))

    for question in _questions(tree):
        look(question)
    return found


def _questions(tree):
    """Yields the expressions that name the classes asked for."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "issubclass"):
            yield node.args[1]
        elif isinstance(node, ast.Compare) and "type(" in ast.unparse(node):
            yield node
        elif isinstance(node, ast.MatchClass):
            yield node.cls


def _imported(tree):
    """The full names of what a module imports, also within functions."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names |= {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}
        elif isinstance(node, ast.Import):
            for each in node.names:
                first = each.name.split(".")[0]
                names[each.asname or first] = each.name if each.asname else first
    return names


def _assigned(tree):
    nodes = [node for node in ast.walk(tree) if isinstance(node, (ast.Assign, ast.AnnAssign))]
    return {
        ast.unparse(target): node.value
        for node in nodes
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if node.value is not None
    }


def _resolved(dotted):
    """The object with a dotted name, or None."""
    module, _, name = dotted.rpartition(".")
    if not module.startswith("tagger"):
        return None
    try:
        return getattr(importlib.import_module(module), name, None)
    except ModuleNotFoundError:
        return getattr(_resolved(module), name, None)


def _heads_in(value):
    if isinstance(value, (tuple, list)):
        return {head for each in value for head in _heads_in(each)}
    is_head = isinstance(value, type) and issubclass(value, TaggingHead)
    return {value.__name__} if is_head else set()


@pytest.mark.parametrize(
    "source",
    [
        "from tagger.modules.heads import CrfHead as Chain\nisinstance(head, Chain)",
        "def f(x):\n    from tagger.modules import CrfHead\n    return issubclass(x, (int, CrfHead))",
        "import tagger.modules.heads\nisinstance(head, tagger.modules.heads.CrfHead)",
        "import tagger.modules.heads as own\nKINDS = (own.CrfHead, int)\nisinstance(head, KINDS)",
        "from tagger.modules import heads\ntype(head) is heads.CrfHead",
        "from tagger.modules.heads.crf import CrfHead\nmatch head:\n    case CrfHead():\n        pass",
    ],
)
def test_a_question_is_seen_under_any_name(source):
    assert heads_asked_for(source) == {"CrfHead"}


def test_nobody_asks_for_the_class_of_a_head():
    assert len(MODULES) > 250
    found = {path.relative_to(ROOT): heads_asked_for(path.read_text()) for path in MODULES}
    assert {str(path): heads for path, heads in found.items() if heads} == {}
