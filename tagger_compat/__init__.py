"""Makes AllenNLP 2.10.1, unmodified, run on today's libraries, and makes it find this package.

`tagger_compat.mends` is the table of what has to be put right. Here is the import hook that puts a mend
in force while the AllenNLP module that needs it is executed. A process that never imports AllenNLP is
left alone.

Installing the package puts `tagger_compat.pth` into site-packages, by which every interpreter of the
environment installs the hook when it starts. That is why the bare `allennlp` command works, and why this
file imports only what is loaded by then. The environment variable `TAGGER_NO_HOOK=1` turns the hook off.
"""

import os
import sys

TYPE_CHECKING = False  # importing `typing` for it would cost more than all the rest
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any, Optional


class MendingFinder:
    """A `sys.meta_path` finder that has modules of AllenNLP mended while they are executed."""

    def find_spec(
        self,
        name: str,
        path: "Optional[Sequence[str]]" = None,
        target: "Optional[ModuleType]" = None,
    ) -> "Optional[ModuleSpec]":
        """Lets the other finders find a module, and wraps its execution if a mend is about it.

        Args:
            name: Full name of the module that is being imported.
            path: Where to look for it, as for any finder.
            target: The module being reloaded, as for any finder.

        Returns:
            What the first other finder returns, or None for a module that no mend is about.
        """
        if not name.startswith("allennlp."):
            return None
        from tagger_compat.mends import mended_modules

        if name not in mended_modules():
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None:
                _mend_while_executing(spec.loader, name)
                return spec
        return None


def _mend_while_executing(loader: "Any", name: str) -> None:
    exec_module = loader.exec_module

    def exec_mended(module: "ModuleType") -> None:
        from tagger_compat.mends import mends_in_force

        with mends_in_force(module):
            exec_module(module)

    loader.exec_module = exec_mended


def install() -> None:
    """Installs the import hook, once; does nothing where `TAGGER_NO_HOOK` is set to anything but 0."""
    if os.environ.get("TAGGER_NO_HOOK", "0") not in ("", "0"):
        return
    if any(isinstance(finder, MendingFinder) for finder in sys.meta_path):
        return
    sys.meta_path.insert(0, MendingFinder())
    if "allennlp" in sys.modules:  # imported before us, without what follows its execution
        from tagger_compat.mends import mended_modules, mends_in_force

        for name in mended_modules() & sys.modules.keys():
            with mends_in_force(sys.modules[name]):
                pass
