"""The files that a config names, and their digests, which show whether a run's data have changed."""

from functools import lru_cache
from pathlib import Path
from typing import Any, Dict, Iterator, Mapping

from tagger.common.files import sha256_of_file
from tagger.common.locations import resolved

#: A key with one of these endings may name a folder of data.
_OF_FOLDERS = ("_path", "model_name")


def files_named(config: Any, key: str = "") -> Iterator[Path]:
    """Yields the local files that strings in a config name, and the files in its folders of data."""
    if isinstance(config, dict):
        for name, each in config.items():
            yield from files_named(each, str(name))
    elif isinstance(config, list):
        for each in config:
            yield from files_named(each, key)
    elif isinstance(config, str):
        try:
            path = Path(resolved(config.partition("!")[0])).expanduser()
            if path.is_file():
                yield path
            elif key.endswith(_OF_FOLDERS) and path.is_dir():
                yield from sorted(each for each in path.rglob("*") if each.is_file())
        except (OSError, RuntimeError, ValueError):  # The string is not a path.
            pass


def digests_of_files(config: Mapping[str, Any]) -> Dict[str, str]:
    """Returns the SHA-256 of each file that a config names, by its path."""
    return {
        str(path): _digest(path, status.st_size, status.st_mtime_ns)
        for path in files_named(config)
        for status in [path.stat()]
    }


@lru_cache(maxsize=4096)
def _digest(path: Path, *_: int) -> str:
    # The other arguments, size and time, make a changed file miss the cache.
    return sha256_of_file(path)


def changed_files(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    """Names the first three files that differ between two `digests_of_files`; empty if none do."""
    names = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
    return ", ".join(names[:3]) + (f" and {len(names) - 3} others" if len(names) > 3 else "")
