"""Makes AllenNLP 2.10.1, unmodified, run on today's libraries, start fast, and find this package.

`tagger_compat.patches` lists the patches, and `tagger_compat.deferral` the libraries that AllenNLP
imports before it needs them. The import hook in this file applies both while AllenNLP modules are
executed. Processes that never import AllenNLP are unaffected.

Installing the package puts `tagger_compat.pth` into site-packages, so every interpreter of the
environment installs the hook at startup. That is why the plain `allennlp` command works, and why this
file imports only modules that are already loaded then. The environment variable `TAGGER_NO_HOOK=1`
turns the hook off.
"""

import os
import sys

TYPE_CHECKING = False  # importing `typing` would take longer than everything else here
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any, Optional

#: What waiting threads of PyTorch do, unless the user has set OMP_WAIT_POLICY: PASSIVE threads sleep,
#: and ACTIVE ones spin. `python -m scripts.experiments.benchmarks.policy` compares them.
WAIT_POLICY = "PASSIVE"
#: The package that extends AllenNLP's functions, and what imports its `Extension`; see `extend`.
extended_by: "Optional[tuple[str, Callable[[], Any]]]" = None
#: Actions to run after the import of a module, by its name.
_actions: "dict[str, list[Callable[[], object]]]" = {}


class PatchingFinder:
    """A `sys.meta_path` finder that patches AllenNLP modules while they are executed.

    It also runs the actions registered by `after_import`.
    """

    def find_spec(
        self,
        name: str,
        path: "Optional[Sequence[str]]" = None,
        target: "Optional[ModuleType]" = None,
    ) -> "Optional[ModuleSpec]":
        """Finds a module with the other finders, and wraps its execution if it concerns us.

        Returns the first other finder's result, or None for a module that does not concern us.
        """
        if name != "allennlp" and not name.startswith("allennlp.") and name not in _actions:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None:
                if spec.loader is not None:
                    _wrap_execution(spec.loader, name)
                return spec
        return None


def _wrap_execution(loader: "Any", name: str) -> None:
    exec_module = loader.exec_module

    def exec_wrapped(module: "ModuleType") -> None:
        if name.partition(".")[0] == "allennlp":
            from tagger_compat.deferral import deferring
            from tagger_compat.patches import patches_in_force

            set_variables_of_pytorch()
            with patches_in_force(module), deferring():
                exec_module(module)
        else:
            exec_module(module)
        for action in _actions.pop(name, ()):
            action()

    loader.exec_module = exec_wrapped


def set_variables_of_pytorch() -> None:
    """Sets variables that PyTorch's libraries read at import, unless the user has set them.

    Waiting threads sleep (`WAIT_POLICY`). By default they spin, and a step may take a hundred times as
    long if another process is running.

    MKL multiplies matrices so that a row of a product depends neither on the number of rows nor on the
    number of threads. Otherwise, a sentence's scores differ between batches in the last digits.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", WAIT_POLICY)
    os.environ.setdefault("MKL_CBWR", "AUTO,STRICT")


def after_import(name: str, action: "Callable[[], object]") -> None:
    """Calls `action` after a module is imported, or immediately if it already is, or without the hook.

    The action may import the module.
    """
    if name in sys.modules or not is_installed():
        action()
    else:
        _actions.setdefault(name, []).append(action)


def extend(package: str, load: "Callable[[], Any]") -> None:
    """Lets a package extend AllenNLP's functions, see `tagger_compat.extensions.Extension`.

    Args:
        package: The package's name.
        load: Imports and returns its extension; called when AllenNLP first needs one.
    """
    global extended_by
    extended_by = package, load


def is_installed() -> bool:
    """Whether the import hook is in place."""
    return any(isinstance(finder, PatchingFinder) for finder in sys.meta_path)


def install() -> None:
    """Installs the import hook once; does nothing if `TAGGER_NO_HOOK` is set to anything but 0."""
    if os.environ.get("TAGGER_NO_HOOK", "0") not in ("", "0"):
        return
    if is_installed():
        return
    sys.meta_path.insert(0, PatchingFinder())
    if "allennlp" in sys.modules:  # imported before us, so its actions have not run
        from tagger_compat.patches import patched_modules, patches_in_force

        for name in patched_modules() & sys.modules.keys():
            with patches_in_force(sys.modules[name]):
                pass
