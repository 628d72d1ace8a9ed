"""Opens inputs: files or addresses such as `s3://bucket/a.gz`, decompressed."""

import io
import lzma
import os
import sys
import zlib
from contextlib import contextmanager
from os import PathLike
from pathlib import PurePath
from typing import Any, BinaryIO, Iterator, Optional, Tuple, Union, cast

from tagger.common.files import check_is_file
from tagger.common.from_allennlp import ConfigurationError
from tagger_compat import archive_guard

PathOrAddress = Union[str, "PathLike[str]"]

#: The suffixes of compressed files, with fsspec's names for the compressions.
COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz", ".zst": "zstd"}


def is_address(path: PathOrAddress) -> bool:
    """Whether a path is an address such as `s3://bucket/a.txt`, and not a local file."""
    return "://" in os.fspath(path)


def bare_suffix(path: PathOrAddress) -> str:
    """Returns the suffix, ignoring that of a compression."""
    name = PurePath(os.fspath(path))
    return PurePath(name.stem if name.suffix in COMPRESSIONS else name).suffix


def without_suffix(path: PathOrAddress) -> str:
    """Returns a path without its suffix and that of a compression.

    Example:
        >>> without_suffix("s3://bucket/a.b.jsonl.gz"), without_suffix("texts")
        ('s3://bucket/a.b', 'texts')
    """
    name = os.fspath(path)
    compression = PurePath(name).suffix
    if compression in COMPRESSIONS:
        name = name.removesuffix(compression)
    return name.removesuffix(bare_suffix(name))


@contextmanager
def open_input(path: PathOrAddress) -> Iterator[BinaryIO]:
    """Opens an input for reading and decompresses it by its suffix (.gz, .bz2, .xz, .zst).

    Raises:
        ConfigurationError: If the file is damaged, which may show only while reading, or a driver is
            missing.
    """
    with open_stored(path) as stored, unpacked(stored, path) as file:
        yield file


@contextmanager
def open_stored(path: PathOrAddress) -> Iterator[BinaryIO]:
    """Like `open_input`, but yields the stored bytes."""
    name = os.fspath(path)
    if is_address(name):
        archive_guard.check_path(name)
    if is_address(name) and not _is_cached(name):
        import fsspec

        try:
            opened = fsspec.open(name, "rb")
        except (ImportError, ValueError) as error:
            raise ConfigurationError(f"{name} cannot be opened ({error})") from None
        with opened as file:
            yield cast(BinaryIO, file)
        return
    from allennlp.common.file_utils import cached_path

    found = cached_path(name)
    check_is_file(found, name)
    with open(found, "rb") as file:
        yield file


def _is_cached(name: str) -> bool:
    """Whether AllenNLP downloads an address before it is read."""
    return name.startswith(("http://", "https://", "hf://"))


def stored_size(stored: BinaryIO) -> Optional[int]:
    """Returns the size in bytes of a file from `open_stored`; None if it is unknown."""
    if getattr(stored, "size", None) is not None:
        return int(stored.size)  # type: ignore[attr-defined]
    try:
        return os.fstat(stored.fileno()).st_size
    except OSError:
        return None


def stamp_of_address(address: PathOrAddress) -> Optional[object]:
    """Returns what changes when the content behind an address does; None if its store cannot say."""
    name = os.fspath(address)
    if _is_cached(name):
        from allennlp.common.file_utils import cached_path

        # Each version has its own file in the cache.
        return str(cached_path(name))
    import fsspec

    try:
        store, name = fsspec.url_to_fs(name)
        store.invalidate_cache()
        return str(store.ukey(name))
    except Exception:  # Stores raise errors of their clients, which reading reports.
        return None


@contextmanager
def unpacked(stored: BinaryIO, path: PathOrAddress) -> Iterator[BinaryIO]:
    """Decompresses stored bytes by the suffix of their name."""
    compression = COMPRESSIONS.get(PurePath(os.fspath(path)).suffix)
    if compression is None:
        yield stored
        return
    from fsspec.compression import compr

    if compression not in compr:
        raise ConfigurationError(f"{path} needs a library; install it: pip install backports.zstd")
    try:
        with compr[compression](stored, mode="rb") as file:
            yield cast(BinaryIO, io.BufferedReader(file, 1 << 16))
    except Exception as error:
        if not _is_damage(error):
            raise
        raise ConfigurationError(_damaged(os.fspath(path), error)) from error


def numbered_lines(path: PathOrAddress) -> Iterator[Tuple[int, str]]:
    """Yields each line's number, from 1, and the line with its line feed.

    Invalid UTF-8 becomes surrogates. `path` may be `-` for standard input.
    """
    if path != "-":
        with open_input(path) as file:
            yield from lines_of(file, path)
        return
    if sys.stdin is None or sys.stdin.closed:
        raise ConfigurationError(
            "standard input is closed; pipe the texts into the command, or name a file"
        )
    if hasattr(sys.stdin, "reconfigure"):
        sys.stdin.reconfigure(encoding="utf-8", errors="surrogateescape")
    yield from enumerate(sys.stdin, 1)


def utf8_lines(path: str) -> Iterator[Tuple[str, str]]:
    """Yields each line's place, `path:number`, and the line, which must be UTF-8."""
    for number, line in numbered_lines(path):
        place = f"{'standard input' if path == '-' else path}:{number}"
        content = line.encode("utf-8", errors="surrogateescape")
        try:
            content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise ConfigurationError(
                f"{place}: expected UTF-8, got byte 0x{content[error.start]:02x} in "
                f"{content.rstrip()[:80]!r}; convert the text, if it is Latin-1 with "
                f"`iconv -f latin1 -t utf-8`"
            ) from None
        yield place, line


def lines_of(file: BinaryIO, path: PathOrAddress) -> Iterator[Tuple[int, str]]:
    """Like `numbered_lines`, for an open input."""
    number = 0
    lines = io.TextIOWrapper(cast(Any, file), encoding="utf-8", errors="surrogateescape")
    try:
        for number, line in enumerate(lines, 1):
            yield number, line
    except Exception as error:
        if not _is_damage(error):
            raise
        raise ConfigurationError(_damaged(f"{os.fspath(path)}:{number + 1}", error)) from error
    finally:
        # The caller closes the file.
        lines.detach()


def _is_damage(error: Exception) -> bool:
    """Whether the error means that bytes cannot be decompressed."""
    if isinstance(error, OSError):
        # For a file of another format, Python raises one without an errno.
        return error.errno is None and type(error) is not io.UnsupportedOperation
    return isinstance(error, (EOFError, lzma.LZMAError, zlib.error)) or (
        type(error).__name__ == "ZstdError"
    )


def _damaged(place: str, error: Exception) -> str:
    return f"{place}: the compressed file is cut off or damaged here ({error}); copy it again"
