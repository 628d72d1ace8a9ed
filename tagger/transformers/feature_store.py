"""Features on disk: written once, mapped into memory by every later run.

A store is a folder of files that never change. Each holds the features of many passages: a head, an
index with a checksum of each passage, and the numbers. A file gets its name only once all of it is on
disk, so a killed process leaves nothing that others would read. Processes compute one at a time, under
a lock that the system releases if a process dies.

Letters: `W` words of a passage, `H` layers, `D` features of a layer.
"""

import logging
import os
import secrets
import struct
import time
import zlib
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Dict, Iterator, Optional, Sequence, Set, Tuple

import numpy as np

from tagger.common.files import write_atomically
from tagger.common.from_allennlp import ConfigurationError

logger = logging.getLogger(__name__)

SUFFIX = ".features"
# The format, the number of passages, the checksum of the index.
_HEAD = struct.Struct("<8sQI")
_MAGIC = b"TAGFEAT1"
_ENTRY = np.dtype([("key", "V16"), ("start", "<u8"), ("words", "<u4"), ("checksum", "<u4")])
# Seconds after which the unfinished file of a killed writer is removed.
_ABANDONED = 3600


class _File:
    """A file of features, mapped into memory."""

    def __init__(self, path: Path, shape: Tuple[int, int]) -> None:
        with open(path, "rb") as file:
            magic, number, checksum = _HEAD.unpack(file.read(_HEAD.size))
            if magic != _MAGIC:
                raise ValueError("it is not a file of features")
            index = file.read(number * _ENTRY.itemsize)
            if zlib.crc32(index) != checksum:
                raise ValueError("its index is damaged")
        self.entries = np.frombuffer(index, dtype=_ENTRY)
        num_words = int(self.entries["words"].sum())
        offset = _HEAD.size + len(index)
        if path.stat().st_size != offset + num_words * shape[0] * shape[1] * 2:
            raise ValueError("its size is wrong")
        self.path = path
        self.features = np.memmap(path, np.float16, "r", offset, (num_words, *shape))


class FeatureStore:
    """The features of passages, by key.

    `settings` name this store's folder in `root`, `shape` is (H, D), and `max_bytes` is a limit on all
    stores together. The least recently used files are removed to make room, except those that this
    process uses; if that is not enough, nothing is written.
    """

    def __init__(self, root: Path, settings: str, shape: Tuple[int, int], max_bytes: float) -> None:
        self._root = root
        self._folder = root / settings[:32]
        self._shape = shape
        self._max_bytes = max_bytes
        self._files: Dict[Path, _File] = {}
        # The file of each passage, its first word there, the number of words, and the checksum.
        self._places: Dict[bytes, Tuple[_File, int, int, int]] = {}
        self._checked: Set[bytes] = set()
        self._is_full = False
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigurationError(
                f"features cannot be kept in {root} ({error.strerror}); name another folder by "
                f"`cache_folder`, or move the file away that is in the way"
            ) from error
        for path in self._folder.glob(".*.unfinished"):  # left by killed processes
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > _ABANDONED:
                    path.unlink()
        self.refresh()

    def __contains__(self, key: bytes) -> bool:
        return key in self._places

    def refresh(self) -> None:
        """Opens the files that other processes have written."""
        for path in sorted(self._folder.glob(f"*{SUFFIX}")):
            if path not in self._files:
                self._open(path)

    def get(self, key: bytes) -> Optional[np.ndarray]:
        """Returns the features of a passage, (W, H, D) float16, read-only; None if there are none.

        Their checksum is verified at the first use in a process; damaged ones count as missing.
        """
        place = self._places.get(key)
        if place is None:
            return None
        file, start, num_words, checksum = place
        features = file.features[start : start + num_words]
        if key not in self._checked:
            if zlib.crc32(features.data) != checksum:
                del self._places[key]
                logger.warning("%s is damaged; features are computed again", file.path)
                # Its other passages are still used, but no later run should read this file.
                file.path.unlink(missing_ok=True)
                return None
            self._checked.add(key)
        return features

    def add(self, features: Sequence[Tuple[bytes, np.ndarray]]) -> bool:
        """Writes the features of at least one passage, (W, H, D) float16; warns if that fails.

        Returns whether they were written.
        """
        entries = np.zeros(len(features), dtype=_ENTRY)
        start = 0
        for entry, (key, values) in zip(entries, features):
            entry["key"], entry["start"], entry["words"] = np.void(key), start, len(values)
            entry["checksum"] = zlib.crc32(np.ascontiguousarray(values).data)
            start += len(values)
        index = entries.tobytes()
        size = _HEAD.size + len(index) + sum(values.nbytes for _, values in features)
        if not self._make_room(size):
            return False
        path = self._folder / f"{secrets.token_hex(8)}{SUFFIX}"
        try:
            with write_atomically(path) as new, open(new, "wb") as file:
                file.write(_HEAD.pack(_MAGIC, len(features), zlib.crc32(index)))
                file.write(index)
                for _, values in features:
                    file.write(np.ascontiguousarray(values).data)
        except OSError as error:
            self._warn_once(f"{self._folder} can't be written ({error})")
            return False
        self._open(path)
        return True

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Waits until no other process computes features of this store, and opens what they wrote."""
        with open(self._folder / "lock", "ab") as lock:
            # On a file system without locks, two processes may compute the same.
            with suppress(ImportError, OSError):
                import fcntl

                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    logger.info("waiting for another process that computes features")
                    fcntl.flock(lock, fcntl.LOCK_EX)
            self.refresh()
            yield

    def _open(self, path: Path) -> None:
        try:
            file = _File(path, self._shape)
            # Marks the file as used now.
            os.utime(path)
        except FileNotFoundError:
            return
        except (OSError, ValueError, struct.error) as error:
            logger.warning("Removed %s: %s; its features are computed again", path, error)
            with suppress(OSError):
                path.unlink()
            return
        self._files[path] = file
        for key, start, num_words, checksum in file.entries.tolist():
            self._places[key] = (file, start, num_words, checksum)

    def _make_room(self, size: int) -> bool:
        """Removes files until `size` bytes fit; returns whether they do."""
        sizes = {}
        for path in self._root.glob(f"*/*{SUFFIX}"):
            with suppress(FileNotFoundError):
                stat = path.stat()
                sizes[path] = (stat.st_mtime, stat.st_size)
        total = sum(own for _, own in sizes.values())
        unused = sorted(
            (used, path) for path, (used, _) in sizes.items() if path not in self._files
        )
        for _, path in unused:
            if total + size <= self._max_bytes:
                break
            logger.info("Removed %s, which was used least recently", path)
            with suppress(FileNotFoundError):
                path.unlink()
            total -= sizes[path][1]
        if total + size <= self._max_bytes:
            return True
        self._warn_once(
            f"{self._root} may have {self._max_bytes / 1e9:.1f} GB; raise `max_cache_gb`"
        )
        return False

    def _warn_once(self, reason: str) -> None:
        if not self._is_full:
            self._is_full = True
            logger.warning("Some features are not kept, and computed in every epoch: %s", reason)


def default_root() -> Path:
    """Returns the folder of all stores in the user's cache directory."""
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(cache, "tagger", "features")


def own_cache_settings(config: Any, path: str = "") -> Dict[str, Any]:
    """Returns a config's settings for the cache of features, as overrides for its own archive.

    An archive's own settings for this are ignored, since it may be untrusted.

    Example:
        >>> own_cache_settings({"model": {"embedder": {"cache_folder": "features", "type": "x"}}})
        {'model.embedder.cache_folder': 'features'}
    """
    found: Dict[str, Any] = {}
    for name, value in config.items() if isinstance(config, dict) else ():
        if isinstance(value, dict):
            found.update(own_cache_settings(value, f"{path}{name}."))
        elif name in ("cache_folder", "max_cache_gb"):
            found[f"{path}{name}"] = value
    return found
