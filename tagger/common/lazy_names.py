"""Imports the names of a package at first use."""

import importlib
import importlib.util
import sys
from typing import Any, Callable, List, Mapping, Tuple


def lazy_names(
    package: str, modules: Mapping[str, str]
) -> Tuple[Callable[[str], Any], Callable[[], List[str]]]:
    """Returns the functions `__getattr__` and `__dir__` of a package.

    Args:
        package: The package's name.
        modules: The names that each module below the package has for it, separated by blanks.
    """
    module_of = {name: module for module, names in modules.items() for name in names.split()}

    def get(name: str) -> Any:
        if name in module_of:
            return getattr(importlib.import_module(f"{package}.{module_of[name]}"), name)
        if not name.startswith("_") and importlib.util.find_spec(f"{package}.{name}"):
            return importlib.import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return get, lambda: sorted({*vars(sys.modules[package]), *module_of})
