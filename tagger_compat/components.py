"""Registers the components of `tagger`, once it is imported, when AllenNLP first looks for one.

`import tagger` imports neither AllenNLP nor what needs it. From then on, whoever asks AllenNLP's
registry for a name that is not there, or for all names, finds ours too; so does a class that takes one
of our names on purpose, with `exist_ok`.
"""

import importlib
import sys
from contextlib import contextmanager
from typing import Any, Callable, ContextManager, Iterator, List


def register_ours() -> None:
    """Imports our components if `tagger` has been imported; nested calls, as it does so, do nothing."""
    if "tagger" in sys.modules:
        importlib.import_module("tagger.components")


@contextmanager
def _with_our_components(registrable: Any) -> Iterator[None]:
    yield
    # These are class methods, which take any class.
    register = registrable.Registrable.register.__func__
    resolve = registrable.Registrable.resolve_class_name.__func__
    list_names = registrable.Registrable.list_available.__func__

    def resolve_class_name(cls: type, name: str) -> Any:
        if name not in registrable.Registrable._registry[cls]:
            register_ours()
        return resolve(cls, name)

    def list_available(cls: type) -> List[str]:
        register_ours()
        names: List[str] = list_names(cls)
        return names

    def register_after_ours(
        cls: type, name: str, constructor: Any = None, exist_ok: bool = False
    ) -> Callable[[Any], Any]:
        add_to_registry = register(cls, name, constructor, exist_ok)

        def add(subclass: Any) -> Any:
            package = getattr(subclass, "__module__", "").partition(".")[0]
            if package not in ("allennlp", "tagger"):
                register_ours()
            return add_to_registry(subclass)

        return add

    registrable.Registrable.resolve_class_name = classmethod(resolve_class_name)
    registrable.Registrable.list_available = classmethod(list_available)
    registrable.Registrable.register = classmethod(register_after_ours)


MODULES = ("allennlp.common.registrable",)


def mended(module: Any) -> ContextManager[None]:
    """Mends the one of `MODULES`."""
    return _with_our_components(module)
