"""Libraries that AllenNLP imports though most commands never use them: `LIBRARIES`.

An `import` statement of an AllenNLP module gives a stand-in for such a library, or for a name in it. The
first use of a stand-in imports the library, and every use is passed on. All other code, in AllenNLP's
functions too, imports as ever: a stand-in is never in `sys.modules`.

The largest of the libraries are imported by modules of AllenNLP that every command needs, so that
deferring modules of AllenNLP instead would not help. AllenNLP is frozen: a test reads its sources, and
finds no use of a deferred name that a stand-in could answer wrongly.

Python calls `builtins.__import__` with the globals of the importing module, by which we know AllenNLP's
statements. It is replaced only while modules of AllenNLP are executed.
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

#: What is deferred, and the seconds that its import takes on top of torch's.
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
    """Defers the libraries that modules of AllenNLP, which are executed inside, import."""
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
            # Somebody may have put a function of his own around ours.
            if _num_executing == 0 and builtins.__import__ is _import_deferring:
                builtins.__import__ = _import


def stand_in(name: str) -> ModuleType:
    """Returns the stand-in for a module, by its full name, of a deferred library."""
    return cast(ModuleType, _Deferred.of(name))


def _import_deferring(
    name: str,
    globals: Optional[Mapping[str, Any]] = None,
    locals: Optional[Mapping[str, Any]] = None,
    fromlist: Sequence[str] = (),
    level: int = 0,
) -> Any:
    """What an `import` statement calls."""
    library = name.partition(".")[0]
    # In a function, `locals` are others.
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
    """What `from module import ...` takes its names from."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        given = vars(stand_in(self._module))
        return given[name] if name in given else _Deferred.of(self._module, name)


def _is_asked_by_import_time_code() -> bool:
    """Whether the caller's caller is AllenNLP's code outside of functions, such as an annotation."""
    frame = sys._getframe(2)
    is_of_function = frame.f_code.co_flags & inspect.CO_OPTIMIZED
    return (
        not is_of_function and frame.f_globals.get("__name__", "").partition(".")[0] == "allennlp"
    )


class _Deferred(ModuleType):
    """Stands in for a module, or for a class, a function or anything else in it.

    A name can be called, compared, asked for an attribute or an item, named in an annotation and in
    `isinstance`. AllenNLP does nothing else with such names. The `vars()` of a module may be given names
    that it lacks.

    Args:
        module: The full name of the module.
        path: The name in it, with dots for a name in a class or in a submodule; empty for the module.
    """

    def __init__(self, module: str, path: str) -> None:
        vars(self)["_origin"] = module, path

    @staticmethod
    @functools.cache
    def of(module: str, path: str = "") -> Any:
        return _Deferred(module, path)

    def __getattr__(self, name: str) -> Any:
        # `typing` asks for these when an annotation is made; no class that AllenNLP imports is generic.
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
        # `typing` compares, too, and must not import anything.
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
    """Does what `from module import path` does, or `import module`."""
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
