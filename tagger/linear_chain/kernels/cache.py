"""Caches compiled kernels on disk, and carries on without the cache if that fails.

Numba asks its cache once for each kernel and each combination of argument types, so nothing here runs
when a kernel that is already loaded is called.
"""

import contextlib
import functools
import logging
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

from numba.core.caching import FunctionCache, IndexDataCacheFile, NullCache

logger = logging.getLogger(__name__)


class KernelCache(FunctionCache):
    """Numba's cache of one kernel, robust against damaged and outdated files.

    Numba recompiles a kernel if its own file has changed, but it may call kernels in other files. Here
    any change to a source file in its folder, or in this one, invalidates the cache.

    Raises:
        RuntimeError: If no folder for the cache is writable.
    """

    def __init__(self, function: Callable) -> None:
        super().__init__(function)
        stamp = source_stamp(Path(function.__code__.co_filename).parent)
        self._cache_file = _CacheFile(self.cache_path, self._impl.filename_base, stamp)

    def _save_overload(self, sig: Any, data: Any) -> None:
        try:
            super()._save_overload(sig, data)
        except OSError as error:
            _warn_uncached(f"{self.cache_path} can't be written ({error})")


class NoCache(NullCache):
    """Used instead of a cache if no folder for it is writable."""

    def save_overload(self, sig: Any, cres: Any) -> None:
        _warn_uncached("no folder for their cache is writable; set NUMBA_CACHE_DIR to one that is")


class _CacheFile(IndexDataCacheFile):
    """The index of a kernel's cache and its files of machine code, one for each combination of types.

    Numba picks the file's name from an index that another process may be replacing, so two processes
    may write different code under one name. So each file records what it holds.
    """

    def save(self, key: Any, data: Any) -> None:
        super().save(key, (key, self._source_stamp, data))

    def load(self, key: Any) -> Any:
        """Returns what was saved under `key`, or None if it is missing or unreadable."""
        try:
            found = super().load(key)
        except OSError:
            return None
        if found is None or found[:2] != (key, self._source_stamp):
            return None
        return found[2]

    def _load_index(self) -> Dict[Any, str]:
        with _deleted_if_damaged(Path(self._index_path)):
            return super()._load_index()
        return {}

    def _load_data(self, name: str) -> Optional[Tuple]:
        with _deleted_if_damaged(Path(self._data_path(name))):
            return super()._load_data(name)
        return None


@contextlib.contextmanager
def _deleted_if_damaged(path: Path) -> Iterator[None]:
    """Deletes a file, with a warning, if reading it fails for any reason but the file system."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:  # pickle raises errors of many types for damaged bytes
        logger.warning(
            "Deleted the damaged kernel cache %s (%s: %s); its kernel is compiled again",
            path,
            type(error).__name__,
            error,
        )
        with contextlib.suppress(OSError):
            path.unlink()


@functools.cache
def source_stamp(folder: Path) -> List[Tuple[str, int, int]]:
    """Returns the state of the sources in a folder and in this one, to detect outdated machine code."""
    return [
        (str(path), path.stat().st_mtime_ns, path.stat().st_size)
        for each in sorted({Path(__file__).parent, folder})
        for path in sorted(each.glob("*.py"))
    ]


def _warn_uncached(reason: str) -> None:
    """Says, once for all kernels of this process, that they will be compiled again at each start."""
    global _has_warned
    if not _has_warned:
        _has_warned = True
        logger.warning("Kernels are compiled again at each start: %s", reason)


_has_warned = False
