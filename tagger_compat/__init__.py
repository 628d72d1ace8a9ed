"""Makes AllenNLP 2.10.1, unmodified, run on today's libraries, start fast, and find this package.

`tagger_compat.patches` is the table of what has to be put right, `tagger_compat.deferral` that of the
libraries which AllenNLP imports before it needs them. Here is the import hook that puts both in force
while a module of AllenNLP is executed. A process that never imports AllenNLP is left alone.

Installing the package puts `tagger_compat.pth` into site-packages, by which every interpreter of the
environment installs the hook when it starts. That is why the bare `allennlp` command works, and why this
file imports only what is loaded by then. The environment variable `TAGGER_NO_HOOK=1` turns the hook off.
"""

import os
import sys

TYPE_CHECKING = False  # importing `typing` for it would cost more than all the rest
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any, Optional

#: What is to be done after the import of a module, by its name.
_actions: "dict[str, list[Callable[[], object]]]" = {}


class PatchingFinder:
    """A `sys.meta_path` finder that has modules of AllenNLP patched while they are executed.

    It also does what is to be done `after_import`.
    """

    def find_spec(
        self,
        name: str,
        path: "Optional[Sequence[str]]" = None,
        target: "Optional[ModuleType]" = None,
    ) -> "Optional[ModuleSpec]":
        """Lets the other finders find a module, and wraps its execution if it concerns us.

        Returns what the first other finder returns, or `None` for a module that does not concern us.
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
    """Sets what PyTorch's libraries read when it is imported, unless the user has decided.

    Threads that wait for each other sleep. They spin otherwise, and a step may take a hundred times as
    long where another process runs.

    MKL multiplies matrices so that a row of a product does not depend on the number of rows, nor on the
    number of threads. Otherwise a sentence gets other scores, in the last digits, in another batch.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.setdefault("MKL_CBWR", "AUTO,STRICT")


def after_import(name: str, action: "Callable[[], object]") -> None:
    """Calls `action` when a module has been executed; at once if it is there, or without the hook.

    The action may import the module.
    """
    if name in sys.modules or not is_installed():
        action()
    else:
        _actions.setdefault(name, []).append(action)


def is_installed() -> bool:
    """Whether the import hook is in place."""
    return any(isinstance(finder, PatchingFinder) for finder in sys.meta_path)


def install() -> None:
    """Installs the import hook, once; does nothing where `TAGGER_NO_HOOK` is set to anything but 0."""
    if os.environ.get("TAGGER_NO_HOOK", "0") not in ("", "0"):
        return
    if is_installed():
        return
    sys.meta_path.insert(0, PatchingFinder())
    if "allennlp" in sys.modules:  # imported before us, without what follows its execution
        from tagger_compat.patches import patched_modules, patches_in_force

        for name in patched_modules() & sys.modules.keys():
            with patches_in_force(sys.modules[name]):
                pass
