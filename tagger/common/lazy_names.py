"""Imports the names of a package at first use."""

import gc
import importlib
import importlib.util
import sys
from contextlib import contextmanager
from functools import cache
from typing import Any, Dict, Iterator


def lazy_names(package: str) -> None:
    """Gives a package its `__all__`, and finds the names that it imports `if TYPE_CHECKING`.

    The public names are those imported as `from a import b as b`, which type checkers and editors take
    for names of the package. They would accept any name if the package itself had a `__getattr__`.
    """
    module: Any = sys.modules[package]

    def get(name: str) -> Any:
        if name == "__all__":
            return sorted(_public_names(package))
        if not name.startswith("_"):
            source = _public_names(package).get(name)
            if source not in (None, package):
                with collections_paused():
                    return getattr(importlib.import_module(source), name)
            if importlib.util.find_spec(f"{package}.{name}"):
                return importlib.import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    module.__getattr__ = get
    module.__dir__ = lambda: sorted({*vars(module), *module.__all__})


@cache
def _public_names(package: str) -> Dict[str, str]:
    """Returns the module from which each public name is imported, without importing it."""
    import ast

    spec: Any = sys.modules[package].__spec__
    return {
        alias.name: str(node.module)
        for node in ast.walk(ast.parse(spec.loader.get_source(package)))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name == alias.asname
    }


@contextmanager
def collections_paused() -> Iterator[None]:
    """Pauses the garbage collector during imports, where it would take a tenth of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
