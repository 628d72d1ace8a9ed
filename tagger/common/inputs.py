"""Opens what commands and readers read: a file or an address such as `s3://bucket/a.gz`, unpacked."""

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

#: The suffixes of compressed files, with fsspec's names of how they are compressed.
COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz", ".zst": "zstd"}


def is_address(path: PathOrAddress) -> bool:
    """Whether it names something that is not a file of this machine, such as `s3://bucket/a.txt`."""
    return "://" in os.fspath(path)


def bare_suffix(path: PathOrAddress) -> str:
    """Returns the suffix, without that of a compression."""
    name = PurePath(os.fspath(path))
    return PurePath(name.stem if name.suffix in COMPRESSIONS else name).suffix


@contextmanager
def open_input(path: PathOrAddress) -> Iterator[BinaryIO]:
    """Opens an input for reading and unpacks it as its suffix says (.gz, .bz2, .xz, .zst).

    It is a `ConfigurationError` if it is damaged, which may show at any line, or a driver is missing.
    """
    with open_stored(path) as stored, unpacked(stored, path) as file:
        yield file


@contextmanager
def open_stored(path: PathOrAddress) -> Iterator[BinaryIO]:
    """As `open_input`, but gives the bytes as they are stored."""
    name = os.fspath(path)
    if is_address(name):
        archive_guard.check_path(name)
    if is_address(name) and not name.startswith(("http://", "https://", "hf://")):
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


def stored_size(stored: BinaryIO) -> Optional[int]:
    """Returns the size in bytes of what `open_stored` gives; None if it is unknown."""
    if getattr(stored, "size", None) is not None:
        return int(stored.size)  # type: ignore[attr-defined]
    try:
        return os.fstat(stored.fileno()).st_size
    except OSError:
        return None


@contextmanager
def unpacked(stored: BinaryIO, path: PathOrAddress) -> Iterator[BinaryIO]:
    """Unpacks stored bytes as the suffix of their name says."""
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
    """Yields the number of each line, from 1, and the line, which ends by a line feed.

    Bytes that are not UTF-8 become surrogates. `path` may be `-` for standard input.
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
    """Yields each line of `numbered_lines`, which must be UTF-8, with its place, `path:number`."""
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
    """As `numbered_lines`, of an input that is open."""
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
        # Whoever has opened the file closes it.
        lines.detach()


def _is_damage(error: Exception) -> bool:
    """Whether bytes cannot be unpacked."""
    if isinstance(error, OSError):
        # Python raises it without a number for a file of another format.
        return error.errno is None and type(error) is not io.UnsupportedOperation
    return isinstance(error, (EOFError, lzma.LZMAError, zlib.error)) or (
        type(error).__name__ == "ZstdError"
    )


def _damaged(place: str, error: Exception) -> str:
    return f"{place}: the compressed file is cut off or damaged here ({error}); copy it again"
