"""Modules import one another without a circle, and only heads know which kinds of heads there are."""

import ast
from graphlib import TopologicalSorter

from tagger.modules.heads import Chain, TaggingHead
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


def test_only_heads_know_what_a_head_is():
    heads = classes_below(TaggingHead)
    assert {"ChainHead", "CrfHead", "MixtureHead", "SigmoidHead"} <= heads
    kinds = {*TaggingHead.list_available(), "chain"}
    of_heads = ROOT / "tagger/modules/heads"
    # It names what it offers to users.
    front = ROOT / "tagger/modules/__init__.py"
    # It says how the head of an exported file is called.
    runtime = ROOT / "tagger_onnx/onnx_tagger.py"
    paths = [path for path in ROOT.glob("tagger*/**/*.py") if of_heads not in path.parents]
    assert len(paths) > 400
    found = [
        f"{path.relative_to(ROOT)}:{line} {what}"
        for path in set(paths) - {front, runtime}
        for line, what in asked_of_heads(ast.parse(path.read_text()), heads, kinds)
    ]
    assert found == []


def classes_below(base):
    return {
        name for each in base.__subclasses__() for name in {each.__name__, *classes_below(each)}
    }


def asked_of_heads(tree, heads, kinds):
    """Yields the lines that name a class of heads, ask for the class of one, or compare its name."""
    bases = {Chain.__name__, TaggingHead.__name__, *classes_below(Chain)}
    for node in ast.walk(tree):
        names = {getattr(node, key, None) for key in ("id", "attr", "name")}
        if names & heads and not isinstance(node, ast.ClassDef):
            yield node.lineno, ", ".join(names & heads)
        elif isinstance(node, (ast.Call, ast.MatchClass, ast.Compare)):
            inside = list(ast.walk(node))
            named = {each.id for each in inside if isinstance(each, ast.Name)}
            texts = {each.value for each in inside if isinstance(each, ast.Constant)}
            is_test = isinstance(node, ast.MatchClass) or named & {
                "isinstance",
                "issubclass",
                "type",
            }
            if (named & bases and is_test) or (isinstance(node, ast.Compare) and texts & kinds):
                yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.MatchValue) and getattr(node.value, "value", None) in kinds:
            yield node.value.lineno, ast.unparse(node)


def imports_of(path, modules):
    """Yields the modules that a file imports, and the packages that it takes other names from."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            own = (f"{node.module}.{each.name}" for each in node.names)
            yield from {each if each in modules else node.module for each in own} & modules.keys()
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name in modules)
