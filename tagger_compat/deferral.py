"""Defers the import of `LIBRARIES` that AllenNLP imports although most commands never use them.

For such a library, or a name in it, an `import` statement in an AllenNLP module returns a stand-in. Its
first use imports the library, and all uses are forwarded. Other code, including AllenNLP's functions,
imports as usual: stand-ins are never in `sys.modules`.

The largest of these libraries are imported by AllenNLP modules that every command needs, so deferring
AllenNLP's modules instead would not help. AllenNLP no longer changes, and a test checks its sources for
uses of deferred names that a stand-in would answer incorrectly.

Python passes the importing module's globals to `builtins.__import__`, which identifies AllenNLP's
statements. It is replaced only while AllenNLP modules are executed.
"""

import builtins
import functools
import importlib
import importlib.util
import inspect
import sys
import threading
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Iterator, List, Mapping, Optional, Sequence, Set, cast

#: The deferred libraries, and the seconds that their imports take on top of torch's.
LIBRARIES = {
    "cached_path": 0.8,  # with the clients of three clouds
    "h5py": 0.1,
    "huggingface_hub": 0.4,
    "more_itertools": 0.1,
    "nltk": 1.7,  # with scikit-learn and pandas
    "scipy": 0.8,
    "sklearn": 1.2,
    "spacy": 0.9,  # with its command line
    "tensorboardX": 0.3,
    "transformers": 2.8,  # with BERT
}

_lock = threading.Lock()
_num_executing = 0
_import = builtins.__import__
#: Submodules that AllenNLP imports by their full names.
_submodules: Set[str] = set()


@contextmanager
def deferring() -> Iterator[None]:
    """Defers the imports of AllenNLP modules that are executed inside."""
    global _num_executing, _import
    with _lock:
        _num_executing += 1
        if _num_executing == 1:
            _import, builtins.__import__ = builtins.__import__, _import_deferring  # type: ignore[assignment]
    try:
        yield
    finally:
        with _lock:
            _num_executing -= 1
            # Others may have wrapped our function meanwhile.
            if _num_executing == 0 and builtins.__import__ is _import_deferring:
                builtins.__import__ = _import


def stand_in(name: str) -> ModuleType:
    """Returns the stand-in for a deferred library's module, given its full name."""
    return cast(ModuleType, _Deferred.of(name))


def _import_deferring(
    name: str,
    globals: Optional[Mapping[str, Any]] = None,
    locals: Optional[Mapping[str, Any]] = None,
    fromlist: Sequence[str] = (),
    level: int = 0,
) -> Any:
    """Replaces `builtins.__import__`."""
    library = name.partition(".")[0]
    # In a function, `locals` and `globals` differ.
    is_of_module = globals is not None and locals is globals
    if not (library in LIBRARIES and is_of_module and level == 0 and _is_installed(library)):
        return _import(name, globals, locals, fromlist, level)
    assert globals is not None
    if globals.get("__name__", "").partition(".")[0] != "allennlp":
        return _import(name, globals, locals, fromlist, level)
    if fromlist:
        return _FromImport(name)
    if name != library:
        _submodules.add(name)
    return stand_in(library)


@functools.cache
def _is_installed(library: str) -> bool:
    return importlib.util.find_spec(library) is not None


class _FromImport:
    """The object from which `from module import ...` takes its names."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        given = vars(stand_in(self._module))
        return given[name] if name in given else _Deferred.of(self._module, name)


def _is_asked_by_import_time_code() -> bool:
    """Whether the caller's caller is AllenNLP code outside of functions, such as an annotation."""
    frame = sys._getframe(2)
    is_of_function = frame.f_code.co_flags & inspect.CO_OPTIMIZED
    return (
        not is_of_function and frame.f_globals.get("__name__", "").partition(".")[0] == "allennlp"
    )


class _Deferred(ModuleType):
    """Stands in for a module, or for a class, function or anything else in it.

    A stand-in supports calls, comparisons, attributes, items, annotations and `isinstance`; AllenNLP
    does nothing else with such names. The `vars()` of a module may get additional names.

    Args:
        module: The full name of the module.
        path: A name in it, with dots for names in classes or submodules; empty for the module itself.
    """

    def __init__(self, module: str, path: str) -> None:
        vars(self)["_origin"] = module, path

    @staticmethod
    @functools.cache
    def of(module: str, path: str = "") -> Any:
        return _Deferred(module, path)

    def __getattr__(self, name: str) -> Any:
        # `typing` looks these up in annotations; no class that AllenNLP imports is generic.
        if name.startswith("__typing_") or name == "__parameters__":
            raise AttributeError(name)
        if not name.startswith("__") and _is_asked_by_import_time_code():
            module, path = vars(self)["_origin"]
            return _Deferred.of(module, f"{path}.{name}" if path else name)
        return getattr(_real(self), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(_real(self), name, value)

    def __dir__(self) -> List[str]:
        return dir(_real(self))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _real(self)(*args, **kwargs)

    def __getitem__(self, key: Any) -> Any:
        return _real(self)[key]

    def __instancecheck__(self, instance: Any) -> bool:
        return isinstance(instance, _real(self))

    def __eq__(self, other: Any) -> bool:
        # `typing` compares objects too, which must not import anything.
        is_imported = vars(self)["_origin"][0] in sys.modules
        return other is self or (is_imported and other is _real(self))

    def __hash__(self) -> int:
        return hash(vars(self)["_origin"])

    def __reduce__(self) -> Any:
        return _imported, vars(self)["_origin"]

    def __repr__(self) -> str:
        return f"<{'.'.join(filter(None, vars(self)['_origin']))}, imported when it is used>"


def _real(deferred: _Deferred) -> Any:
    return _imported(*vars(deferred)["_origin"])


@functools.cache
def _imported(module: str, path: str) -> Any:
    """Performs `from module import path`, or `import module`."""
    found: Any = importlib.import_module(module)
    if not path:
        for name in [each for each in _submodules if each.startswith(f"{module}.")]:
            importlib.import_module(name)
    for name in path.split(".") if path else ():
        try:
            found = getattr(found, name)
        except AttributeError:
            try:
                found = importlib.import_module(f"{found.__name__}.{name}")
            except ModuleNotFoundError:
                raise ImportError(f"cannot import name {name!r} from {found.__name__!r}") from None
    return found
