"""Patches for changed libraries: for each library, whether it has changed, and the patch.

A patch is a context manager around the execution of an AllenNLP module. Changes to other libraries, from
which AllenNLP imports, are undone afterwards, so that nobody else sees them. Changes to the executed
module itself remain.
"""

import errno
import importlib
import multiprocessing
import os
import sys
import warnings
from contextlib import contextmanager
from functools import partial, wraps
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any, Dict, Iterator, List, NoReturn, Sequence
from urllib.parse import urlparse

from tagger_compat import deferral


@contextmanager
def _names_added(module: ModuleType, names: Dict[str, Any]) -> Iterator[None]:
    vars(module).update(names)
    try:
        yield
    finally:
        for name in names:
            del vars(module)[name]


def _stand_in(name: str, remedy: str) -> type:
    """Returns a class that can be imported and subclassed, but raises ImportError when used."""

    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise ImportError(f"`{name}` is not available: {remedy}")

    class Refusing(type):
        def __getattr__(cls, attribute: str) -> Any:
            if attribute.startswith("__"):
                raise AttributeError(attribute)
            refuse()

    return Refusing(name.rpartition(".")[2], (), {"__init__": refuse})


@contextmanager
def stand_in_modules(names: Sequence[str], remedy: str, _: ModuleType) -> Iterator[None]:
    """Replaces the package `names[0]`, installed or not, by modules that offer any name."""

    class StandInModule(ModuleType):
        def __init__(self, name: str) -> None:
            super().__init__(name)
            self.__path__ = []

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            full_name = f"{self.__name__}.{name}"
            return sys.modules.get(full_name) or _stand_in(full_name, remedy)

    real = {name: sys.modules.pop(name) for name in list(sys.modules) if _is_in(names[0], name)}
    sys.modules.update((name, StandInModule(name)) for name in names)
    try:
        yield
    finally:
        for name in names:
            del sys.modules[name]
        sys.modules.update(real)


def _is_in(package: str, module: str) -> bool:
    return module.partition(".")[0] == package


def fails_to_import(package: str) -> bool:
    """Whether a package is missing or fails to import."""
    try:
        importlib.import_module(package)
    except Exception:  # a build for another torch raises RuntimeError
        return True
    return False


def hub_is_1() -> bool:
    """Whether huggingface_hub, without importing it, has dropped its classes for repositories."""
    return int(version("huggingface_hub").partition(".")[0]) >= 1


@contextmanager
def with_hub_classes(_: ModuleType) -> Iterator[None]:
    """Adds classes that, when used, name their replacement."""
    remedy = "huggingface_hub 1.0 removed it; upload the folder with the command `hf upload`"
    names = {name: _stand_in(name, remedy) for name in ("HfFolder", "Repository")}
    with _names_added(deferral.stand_in("huggingface_hub"), names):
        yield


def transformers_is_5() -> bool:
    """Whether transformers, without importing it, is version 5 or newer, which lacks older names."""
    return int(version("transformers").partition(".")[0]) >= 5


@contextmanager
def with_adamw(_: ModuleType) -> Iterator[None]:
    """Provides torch's AdamW under the old name."""
    import torch

    class AdamW(torch.optim.AdamW):
        def __init__(self, *args: Any, correct_bias: bool = True, **kwargs: Any) -> None:
            if not correct_bias:
                raise ValueError(
                    "`correct_bias` must be true, got false: transformers 5 no longer has an AdamW, and "
                    "torch's always corrects the bias; leave it out"
                )
            super().__init__(*args, **kwargs)

    with _names_added(deferral.stand_in("transformers"), {"AdamW": AdamW}):
        yield


@contextmanager
def with_late_adafactor(optimizers: Any) -> Iterator[None]:
    """Defers the base class of AllenNLP's Adafactor, from transformers, to the first instance."""
    import torch

    class Adafactor(torch.optim.Optimizer):
        """The base class until an instance is created or unpickled."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            derive().__init__(self, *args, **kwargs)

        def __setstate__(self, state: Any) -> None:
            derive().__setstate__(self, state)

    def derive() -> Any:
        real = importlib.import_module("transformers").Adafactor
        subclass = optimizers.HuggingfaceAdafactor
        subclass.__bases__ = tuple(
            real if base is Adafactor else base for base in subclass.__bases__
        )
        return real

    with _names_added(deferral.stand_in("transformers"), {"Adafactor": Adafactor}):
        yield


@contextmanager
def with_tokenizer_methods(cached_transformers: ModuleType) -> Iterator[None]:
    """Restores the old methods of the tokenizers that AllenNLP loads."""
    yield
    get_tokenizer = cached_transformers.get_tokenizer

    @wraps(get_tokenizer)
    def get_patched_tokenizer(model_name: str, **kwargs: Any) -> Any:
        # AllenNLP repeats this argument in every call; to the constructor it is now an error.
        kwargs.pop("add_special_tokens", None)
        tokenizer = get_tokenizer(model_name, **kwargs)
        tokenizer.encode_plus = partial(type(tokenizer).__call__, tokenizer)
        tokenizer.build_inputs_with_special_tokens = partial(_add_special_tokens, tokenizer)
        return tokenizer

    cached_transformers.get_tokenizer = get_patched_tokenizer  # type: ignore[attr-defined]


def _add_special_tokens(tokenizer: Any, token_ids: List[int]) -> List[int]:
    """Adds the special tokens around `token_ids` that `tokenizer` adds around the sample text "a"."""
    sample = tokenizer.encode("a", add_special_tokens=False)
    sample_with_special_tokens = tokenizer.encode("a", add_special_tokens=True)
    start = sample_with_special_tokens.index(sample[0])
    end = start + len(sample)
    return [*sample_with_special_tokens[:start], *token_ids, *sample_with_special_tokens[end:]]


def locks_belong_to_a_start_method() -> bool:
    """Whether spawned processes reject a lock that was created for forked ones."""
    if "fork" not in multiprocessing.get_all_start_methods():
        return False
    # A plain `RLock()` would settle the start method for the whole process.
    return bool(getattr(multiprocessing.get_context("fork").RLock(), "_is_fork_ctx", False))


@contextmanager
def with_locks_of_the_workers(loader: Any) -> Iterator[None]:
    """Creates the loader's locks for the start method of its workers."""
    yield
    original = loader.mp

    class Multiprocessing:
        def __init__(self) -> None:
            self._context = original

        def __getattr__(self, name: str) -> Any:
            return getattr(original, name)

        def get_context(self, method: str) -> Any:
            # The loader requests a context right before it creates the lock.
            self._context = original.get_context(method)
            return self._context

        def RLock(self) -> Any:  # noqa: N802  (its name in `multiprocessing`)
            return self._context.RLock()

    loader.mp = Multiprocessing()


@contextmanager
def with_local_paths(file_utils: Any) -> Iterator[None]:
    """Finds existing files, and locks files, without the library `cached_path`."""
    import filelock

    class FileLock(filelock.FileLock):
        """As `cached_path.file_lock.FileLock`."""

        def __init__(self, lock_file: Any, timeout: float = -1, read_only_ok: bool = False) -> None:
            super().__init__(str(lock_file), timeout=timeout)
            self._read_only_ok = read_only_ok

        def acquire(self, *args: Any, **kwargs: Any) -> Any:
            try:
                return super().acquire(*args, **kwargs)
            except OSError as error:
                is_read_only = error.errno in (errno.EPERM, errno.EACCES, errno.EROFS)
                if not (is_read_only and self._read_only_ok and os.path.isfile(self.lock_file)):
                    raise
                warnings.warn(
                    f"Lacking permissions required to obtain lock '{self.lock_file}'. Race conditions "
                    "are possible if other processes are writing to the same resource.",
                    UserWarning,
                    stacklevel=2,
                )
                return None

    with _names_added(deferral.stand_in("cached_path.file_lock"), {"FileLock": FileLock}):
        yield
    cached_path = file_utils.cached_path

    @wraps(cached_path)
    def find(
        url_or_filename: Any,
        cache_dir: Any = None,
        extract_archive: bool = False,
        *args: Any,
        **kwargs: Any,
    ) -> str:
        name = str(url_or_filename)
        if not extract_archive and not urlparse(name).scheme:
            path = Path(name).expanduser()
            if path.exists():
                return str(path)
        return cached_path(url_or_filename, cache_dir, extract_archive, *args, **kwargs)

    file_utils.cached_path = find


@contextmanager
def with_types_that_are_names(params: Any) -> Iterator[None]:
    """Raises the usual error about an unregistered `type` if it is not even a string."""
    yield
    pop_choice = params.Params.pop_choice

    @wraps(pop_choice)
    def pop(
        self: Any,
        key: str,
        choices: List[Any],
        default_to_first_choice: bool = False,
        allow_class_names: bool = True,
    ) -> Any:
        allow_class_names &= isinstance(self.params.get(key, ""), str)
        return pop_choice(self, key, choices, default_to_first_choice, allow_class_names)

    params.Params.pop_choice = pop
