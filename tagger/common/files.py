"""Writes files atomically and without overwriting what somebody else wrote; computes digests."""

import hashlib
import os
import secrets
import shutil
import stat
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, Iterator, Optional, Union

AnyPath = Union[str, "PathLike[str]"]

#: A shell's pipes into a command have these paths; they end when their writer does.
_PIPED = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")


def add_content(digest: Any, path: AnyPath) -> None:
    """Adds the content of a file to a digest of `hashlib`."""
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)


def sha256_of_file(path: AnyPath) -> str:
    """Returns the SHA-256 of a file's content, in hexadecimal, or of names and content in a folder."""
    digest = hashlib.sha256()
    if not Path(path).is_dir():
        add_content(digest, path)
    else:
        for file in sorted(each for each in Path(path).rglob("*") if each.is_file()):
            digest.update(f"{file.relative_to(path)} {sha256_of_file(file)}\n".encode())
    return digest.hexdigest()


def check_is_file(path: AnyPath, name: Optional[AnyPath] = None) -> None:
    """Rejects folders, pipes and devices, but accepts a shell's `<(zcat data.gz)`."""
    mode = os.stat(path).st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(f"{name or path}: expected a file, got a folder; name a file in it")
    if not stat.S_ISREG(mode) and not os.fspath(path).startswith(_PIPED):
        raise OSError(
            f"{name or path}: expected a file, got a pipe or a device, which may never end; write "
            f"its content to a file first"
        )


@contextmanager
def write_atomically(
    path: Path, overwrite: bool = False, folder: Optional[Path] = None
) -> Iterator[Path]:
    """Yields a new file that is renamed to `path` unless the block raises an error.

    Until then it is in `folder`, by default that of `path`. Links are followed. A replaced file
    keeps its permissions.

    Raises:
        FileExistsError: If `path` is not a regular file; or unless `overwrite` is true, if `path` exists
            or is created meanwhile.
    """
    path = path.resolve()
    if path.exists() and not path.is_file():
        raise FileExistsError(f"{path} is no regular file")
    # Most file systems limit a name to 255 bytes.
    stem = os.fsdecode(os.fsencode(path.name)[:200])
    new = (folder or path.parent) / f".{stem}.{secrets.token_hex(8)}.unfinished"
    new.open("xb").close()
    mode = stat.S_IMODE(path.stat().st_mode) if overwrite and path.exists() else None
    try:
        if mode is not None:  # before there is any content; we must be able to write it
            new.chmod(mode | stat.S_IWUSR | stat.S_IRUSR)
        yield new
        if mode is not None:
            new.chmod(mode)
        publish(new, path, overwrite)
    finally:
        new.unlink(missing_ok=True)


@contextmanager
def new_folder(path: AnyPath, *_: object) -> Iterator[Path]:
    """Gives a new folder, which becomes `path`, where nothing may be, unless the block has an error."""
    path = Path(path)
    if path.exists():
        raise FileExistsError(f"{path} is there already; name a new folder")
    new = path.with_name(f".{path.name}.{secrets.token_hex(8)}.unfinished")
    new.mkdir(parents=True)
    try:
        yield new
        for each in new.rglob("*"):
            if each.is_file():
                _write_to_disk(each)
        new.rename(path)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _write_to_disk(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def publish(new: Path, path: Path, overwrite: bool) -> None:
    """Renames a finished file once it is safely on disk; see `write_atomically`."""
    _write_to_disk(new)
    if overwrite:
        new.replace(path)
        return
    try:
        # Unlike a rename, a link never replaces a file that appeared in the meantime.
        os.link(new, path)
    except OSError:  # `path` exists, or this file system has no links.
        if path.exists():
            raise FileExistsError(f"{path} already exists; give another name") from None
        new.rename(path)
    new.unlink(missing_ok=True)


def spell_bytes(number: float) -> str:
    """Formats a number of bytes for people.

    Example:
        >>> spell_bytes(1.44e9), spell_bytes(20e9), spell_bytes(5300)
        ('1.44 GB', '20 GB', '0.0053 MB')
    """
    return f"{number / 1e9:.3g} GB" if number >= 1e9 else f"{number / 1e6:.3g} MB"
