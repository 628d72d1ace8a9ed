"""Makes AllenNLP 2.10.1, unmodified, run on today's libraries, and makes it find this package.

AllenNLP imports names that newer releases of its dependencies have dropped. `MENDS` lists each of them
with its reason. An import hook puts a mend in force while the one AllenNLP module that needs it is
executed, and takes it back afterwards: no other library ever sees a changed module, and a process that
never imports AllenNLP is left alone. A mend that the installed libraries do not need is not applied.

`tagger_compat.pth`, installed beside this file, installs the hook at interpreter start, so that the bare
`allennlp` command works. The environment variable `TAGGER_NO_HOOK=1` turns the hook off.

Every interpreter of the environment imports this file when it starts, so its top level imports only what is
loaded by then, and functions import what they use.
"""

import os
import sys

TYPE_CHECKING = False  # `typing` itself costs milliseconds
if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any, Callable, Dict, Iterator, Optional, Sequence, Tuple


class Mend:
    """One row of `MENDS`.

    Args:
        name: What is mended.
        reason: What AllenNLP asks for that is no longer there.
        modules: The AllenNLP modules during whose execution the mend is in force.
        needed: Tells whether the installed libraries need it.
        apply: Generator function that mends, yields while the module is executed, and restores.
    """

    __slots__ = ("name", "reason", "modules", "needed", "apply")

    def __init__(
        self,
        name: str,
        reason: str,
        modules: "Tuple[str, ...]",
        needed: "Callable[[], bool]",
        apply: "Callable[[], Iterator[None]]",
    ) -> None:
        self.name = name
        self.reason = reason
        self.modules = modules
        self.needed = needed
        self.apply = apply

    def in_force(self) -> "AbstractContextManager[None]":
        """Applies the mend if it is needed.

        Raises:
            ImportError: If the mend fails; the message names it.
        """
        import contextlib

        try:
            return (
                contextlib.contextmanager(self.apply)()
                if self.needed()
                else contextlib.nullcontext()
            )
        except Exception as error:
            raise ImportError(
                f"tagger_compat could not mend `{self.name}` for AllenNLP ({self.reason}): {error!r}"
            ) from error


def _set_names(module: "Any", names: "Dict[str, Any]") -> "Iterator[None]":
    """Gives `module` more `names` until resumed."""
    for name, value in names.items():
        setattr(module, name, value)
    try:
        yield
    finally:
        for name in names:
            delattr(module, name)


def _stand_in(name: str, remedy: str) -> type:
    """A class that may be imported and subclassed, and says what is missing when it is used."""

    def refuse(self: "Any", *args: "Any", **kwargs: "Any") -> None:
        raise ImportError(f"`{name}` is not available: {remedy}")

    return type(name.rpartition(".")[2], (), {"__init__": refuse})


def _stand_in_modules(package: str, modules: "Sequence[str]", remedy: str) -> "Iterator[None]":
    """Puts modules that offer any name into `sys.modules`, until resumed."""
    import types

    class StandInModule(types.ModuleType):
        def __getattr__(self, name: str) -> "Any":
            if name.startswith("__"):
                raise AttributeError(name)
            return _stand_in(f"{self.__name__}.{name}", remedy)

    hidden = {name: module for name, module in sys.modules.items() if name.split(".")[0] == package}
    for name in hidden:
        del sys.modules[name]
    for name in modules:
        sys.modules[name] = StandInModule(name)
        sys.modules[name].__path__ = []
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], child, sys.modules[name])
    try:
        yield
    finally:
        for name in modules:
            del sys.modules[name]
        sys.modules.update(hidden)


def _cannot_import(package: str) -> bool:
    import importlib

    try:
        importlib.import_module(package)
    except Exception:  # a CUDA build beside a CPU torch raises RuntimeError
        return True
    return False


def _hub_lacks_git() -> bool:
    import huggingface_hub

    return not hasattr(huggingface_hub, "HfFolder")


def _mend_hub() -> "Iterator[None]":
    import huggingface_hub

    remedy = "it left huggingface_hub in 1.0; push the folder with the `hf upload` command instead"
    names = {name: _stand_in(name, remedy) for name in ("HfFolder", "Repository")}
    return _set_names(huggingface_hub, names)


def _transformers_lacks_adamw() -> bool:
    import transformers

    return not hasattr(transformers, "AdamW")


def _mend_adamw() -> "Iterator[None]":
    import torch
    import transformers

    return _set_names(transformers, {"AdamW": torch.optim.AdamW})


def _mend_torchvision() -> "Iterator[None]":
    return _stand_in_modules(
        "torchvision",
        ("torchvision", "torchvision.ops", "torchvision.ops.boxes"),
        "install a torchvision that fits your torch",
    )


def _mend_fairscale() -> "Iterator[None]":
    modules = ("nn", "nn.checkpoint", "nn.misc", "nn.wrap", "optim", "optim.grad_scaler")
    return _stand_in_modules(
        "fairscale",
        ("fairscale", *(f"fairscale.{module}" for module in modules)),
        "`pip install fairscale`",
    )


def _add_plugin() -> "Iterator[None]":
    yield
    from allennlp.common import plugins

    plugins.DEFAULT_PLUGINS += ("tagger",)


MENDS = (
    Mend(
        name="huggingface_hub",
        reason="`HfFolder` and `Repository` are gone since huggingface_hub 1.0",
        modules=("allennlp.common.push_to_hf",),
        needed=_hub_lacks_git,
        apply=_mend_hub,
    ),
    Mend(
        name="transformers.AdamW",
        reason="`AdamW` is gone since transformers 5.0",
        modules=("allennlp.training.optimizers",),
        needed=_transformers_lacks_adamw,
        apply=_mend_adamw,
    ),
    Mend(
        name="torchvision",
        reason="vision modules import it, and it is absent or does not fit torch",
        modules=(
            "allennlp.data.image_loader",
            "allennlp.modules.vision.grid_embedder",
            "allennlp.modules.vision.region_detector",
        ),
        needed=lambda: _cannot_import("torchvision"),
        apply=_mend_torchvision,
    ),
    Mend(
        name="fairscale",
        reason="the optional FSDP accelerator imports it, and it is absent",
        modules=(
            "allennlp.nn.checkpoint.fairscale_checkpoint_wrapper",
            "allennlp.nn.parallel.fairscale_fsdp_accelerator",
        ),
        needed=lambda: _cannot_import("fairscale"),
        apply=_mend_fairscale,
    ),
    Mend(
        name="plugin",
        reason="AllenNLP looks for plugins by a fixed list of names",
        modules=("allennlp.common.plugins",),
        needed=lambda: True,
        apply=_add_plugin,
    ),
)


class MendingFinder:
    """Import hook that puts the mends in force while the modules that need them are executed."""

    _mended_modules = frozenset(module for mend in MENDS for module in mend.modules)

    def find_spec(
        self, name: str, path: "Any" = None, target: "Optional[ModuleType]" = None
    ) -> "Optional[ModuleSpec]":
        """Lets the other finders find `name`, and wraps the execution of a module that needs mends."""
        if name not in self._mended_modules:
            return None
        finders = (finder for finder in sys.meta_path if finder is not self)
        specs = (finder.find_spec(name, path, target) for finder in finders)
        spec = next(filter(None, specs), None)
        if spec is not None and spec.loader is not None:
            _wrap_exec_module(spec.loader, name)
        return spec


def _wrap_exec_module(loader: "Any", name: str) -> None:
    exec_module = loader.exec_module

    def exec_mended(module: "ModuleType") -> None:
        from contextlib import ExitStack

        with ExitStack() as mends:
            # A zip file's modules share their loader.
            for mend in MENDS if module.__name__ == name else ():
                if name in mend.modules:
                    mends.enter_context(mend.in_force())
            exec_module(module)

    loader.exec_module = exec_mended


def install() -> None:
    """Installs the import hook, once; `TAGGER_NO_HOOK=1` keeps it out."""
    if os.environ.get("TAGGER_NO_HOOK", "0") not in ("", "0"):
        return
    if not any(isinstance(finder, MendingFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, MendingFinder())
