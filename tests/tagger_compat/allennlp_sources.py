"""Analyses how AllenNLP's sources, which no longer change, use names imported from slow libraries."""

import ast
from collections import defaultdict
from pathlib import Path

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def uses_of(folder, libraries):
    """How the modules of a package use the names that they import eagerly from some libraries.

    Args:
        folder: The folder of the package.
        libraries: The names of the libraries.

    Returns:
        By module and name, such as `("spacy.tokens", "Token")`, a set of `called`, `asked for an
        attribute`, `asked for an item`, `checked by isinstance`, `annotates`, `subclassed` and, for
        anything else, the first line of the statement.
    """
    uses = defaultdict(set)
    for path in sorted(Path(folder).rglob("*.py")):
        tree = ast.parse(path.read_text())
        for parent in ast.walk(tree):
            for child in ast.iter_child_nodes(parent):
                child.parent = parent
        imported = dict(_imported_names(tree, libraries))
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id in imported:
                uses[imported[node.id]].add(_use(node))
    return dict(uses)


def _imported_names(tree, libraries):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and _is_executed_at_once(node):
            for alias in node.names:
                library = alias.name.partition(".")[0]
                if library in libraries:
                    yield alias.asname or library, (alias.name, None)
        elif isinstance(node, ast.ImportFrom) and _is_executed_at_once(node):
            library = (node.module or "").partition(".")[0]
            for alias in node.names if node.level == 0 and library in libraries else ():
                yield alias.asname or alias.name, (node.module, alias.name)


def _ancestors(node):
    while hasattr(node, "parent"):
        yield node.parent
        node = node.parent


def _is_executed_at_once(node):
    return not any(
        isinstance(each, FUNCTIONS)
        or (isinstance(each, ast.If) and "TYPE_CHECKING" in ast.unparse(each.test))
        for each in _ancestors(node)
    )


def _use(node):
    outer = node
    while isinstance(outer.parent, ast.Attribute):
        outer = outer.parent
    if isinstance(outer.parent, ast.ClassDef):
        return "subclassed"
    if outer is not node:
        return "asked for an attribute" if isinstance(outer.ctx, ast.Load) else ast.unparse(outer)
    parent = node.parent
    if isinstance(parent, ast.Call) and parent.func is node:
        return "called"
    if isinstance(parent, ast.Subscript) and parent.value is node:
        return "asked for an item"
    if isinstance(parent, ast.Tuple):
        parent = parent.parent
    if isinstance(parent, ast.Call) and ast.unparse(parent.func) == "isinstance":
        return "checked by isinstance"
    statement = node
    for each in _ancestors(node):
        annotation = getattr(each, "annotation", None) or getattr(each, "returns", None)
        if annotation is statement:
            return "annotates"
        if isinstance(each, ast.stmt):
            return ast.unparse(each).splitlines()[0]
        statement = each
    raise AssertionError(ast.dump(node))
