"""Imports the names of a package at first use."""

import importlib
import importlib.util
import sys
from typing import Any, Dict

from tagger.common.collections_paused import collections_paused


def lazy_names(package: str) -> None:
    """Lets a package find the names of its `__all__` where it imports them `if TYPE_CHECKING`.

    Type checkers would accept any name if the package itself had a `__getattr__`.
    """
    module: Any = sys.modules[package]
    module_of: Dict[str, str] = {}

    def get(name: str) -> Any:
        if name in module.__all__:
            if not module_of:
                module_of.update(_imports_for_types(package))
            if module_of[name] != package:
                with collections_paused():
                    return getattr(importlib.import_module(module_of[name]), name)
        if not name.startswith("_") and importlib.util.find_spec(f"{package}.{name}"):
            return importlib.import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    module.__getattr__ = get
    module.__dir__ = lambda: sorted({*vars(module), *module.__all__})


def _imports_for_types(package: str) -> Dict[str, str]:
    """Returns the module from which each name is imported `if TYPE_CHECKING`, without importing it."""
    import ast

    spec: Any = sys.modules[package].__spec__
    return {
        alias.name: str(node.module)
        for block in ast.parse(spec.loader.get_source(package)).body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
