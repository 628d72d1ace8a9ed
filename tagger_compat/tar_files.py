"""Reads an archive's members within limits, and writes archives with checksums.

Headers are parsed here, because `tarfile` reads headers of any size before it returns them, and
some Pythons (3.11.7 and others before 3.12.6) take quadratic time: 4 s for a header of 64 KB.
"""

import gzip
import hashlib
import io
import json
import os
import tarfile
import zlib
from contextlib import contextmanager
from typing import IO, Any, Dict, Iterator, NamedTuple, Optional, Union, cast

from tagger_compat.archive_guard import refuse

#: The limits of an unpacked archive: a number of bytes, or a multiple of the archive's size.
SIZE_LIMIT, LARGEST_RATIO = 2**28, 50
#: The most headers in an archive, including folders (ours have about twenty), and bytes per header.
MAX_MEMBERS, MAX_HEADER = 1000, 2**16

META = "meta.json"
#: A set, which AllenNLP writes in random order.
_NAMESPACES = "vocabulary/non_padded_namespaces.txt"
FILES = tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.CONTTYPE
_BLOCK = 512
#: Headers about the next member: GNU's long names, and POSIX's extended headers.
_NAMES = {tarfile.GNUTYPE_LONGNAME: "path", tarfile.GNUTYPE_LONGLINK: "linkpath"}
_EXTENDED = *_NAMES, tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.XGLTYPE
_CUT_OFF = tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile


class Member(NamedTuple):
    """A member of an archive."""

    name: str
    kind: bytes
    #: The target of a link.
    target: str
    content: "Blocks"


def read_member(archive_file: Any, name: str, max_bytes: int = 2**22) -> Optional[bytes]:
    """Returns a file's content from an archive, at most `max_bytes`; None if there is no such file."""
    with members_of(os.fspath(archive_file)) as members:
        for member in members:
            if member.name == name and member.kind in FILES:
                size = member.content.size
                if size > max_bytes:
                    refuse(f"{archive_file}: `{name}` has {size} bytes, more than {max_bytes}")
                return b"".join(member.content)
    return None


@contextmanager
def members_of(archive_file: str) -> Iterator[Iterator[Member]]:
    """Yields an archive's members; read each before the next. Rejects truncated archives."""
    limit = _size_limit(archive_file)
    try:
        with gzip.open(archive_file) as unzipped:
            yield _read_members(_Limited(unzipped, limit), archive_file)
    except _CUT_OFF as error:
        refuse(
            f"{archive_file} is not the archive of a model, or it is cut off ({error})",
            "make or copy it again",
        )


def _size_limit(archive_file: str) -> int:
    given = os.environ.get("TAGGER_ARCHIVE_BYTES")
    if given is None:
        return max(SIZE_LIMIT, LARGEST_RATIO * os.path.getsize(archive_file))
    if not given.isdecimal():
        refuse(
            f"TAGGER_ARCHIVE_BYTES must be a number of bytes; got {given!r}", "correct or unset it"
        )
    return int(given)


class _Limited:
    """A file that raises an error when read beyond a limit."""

    def __init__(self, file: Any, limit: int) -> None:
        self._file = file
        self._limit = self._left_for_members = limit
        # Allow for the headers of an archive at its limit.
        self._left = limit + 2**20

    def read(self, size: int) -> bytes:
        """Reads `size` bytes; fewer only at the end."""
        if size > self._left:
            self._refuse()
        content: bytes = self._file.read(size)
        self._left -= len(content)
        return content

    def read_whole(self, size: int) -> bytes:
        content = self.read(size)
        if len(content) < size:
            raise EOFError("it ends within a member")
        return content

    def add_member(self, size: int) -> None:
        self._left_for_members -= size
        if size < 0 or self._left_for_members < 0:
            self._refuse()

    def _refuse(self) -> None:
        refuse(
            f"{self._file.name}: the members take more than {self._limit} bytes",
            "set TAGGER_ARCHIVE_BYTES to a larger number if the archive is your own",
        )


def _read_members(file: _Limited, archive_file: str) -> Iterator[Member]:
    own: Dict[str, str] = {}
    shared: Dict[str, str] = {}
    num_headers = 0
    while any(block := file.read_whole(_BLOCK)):
        num_headers += 1
        if num_headers > MAX_MEMBERS:
            refuse(f"{archive_file} has more than {MAX_MEMBERS} members")
        header = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        if header.type in _EXTENDED:
            if not 0 <= header.size <= MAX_HEADER:
                refuse(
                    f"{archive_file} has a header of {header.size} bytes, more than {MAX_HEADER}"
                )
            content = file.read_whole(header.size)
            file.read_whole(-header.size % _BLOCK)
            target = shared if header.type == tarfile.XGLTYPE else own
            target.update(_settings(header.type, content))
            continue
        settings, own = {**shared, **own}, {}
        size = _number(settings["size"]) if "size" in settings else header.size
        if header.type not in FILES:
            size = 0
        file.add_member(size)
        is_sparse = any(each.startswith("GNU.sparse") for each in settings)
        name, link = settings.get("path", header.name), settings.get("linkpath", header.linkname)
        blocks = Blocks(file, size)
        yield Member(name, tarfile.GNUTYPE_SPARSE if is_sparse else header.type, link, blocks)
        for _ in blocks:
            pass
        file.read_whole(-size % _BLOCK)
    # A damaged header looks like the end, so read on to verify gzip's checksum at the real end.
    while file.read(2**16):
        pass


class Blocks:
    """The content of a member, which can be read only once."""

    def __init__(self, file: _Limited, size: int) -> None:
        self._file = file
        self.size = self._left = size

    def __iter__(self) -> Iterator[bytes]:
        while self._left:
            block = self._file.read_whole(min(2**20, self._left))
            self._left -= len(block)
            yield block


def _settings(kind: bytes, content: bytes) -> Dict[str, str]:
    """Parses an extended header: a long name, or lines such as `17 path=config.json`."""
    if kind in _NAMES:
        return {_NAMES[kind]: content.rstrip(b"\0").decode("utf-8", "surrogateescape")}
    found, place = {}, 0
    while place < len(content):
        length, _, _ = content[place : place + 8].partition(b" ")
        end = place + _number(length)
        key, is_setting, value = content[place + len(length) + 1 : end - 1].partition(b"=")
        if not (is_setting and end <= len(content) and content[end - 1 : end] == b"\n"):
            raise tarfile.HeaderError("a header is damaged")
        found[key.decode("utf-8", "replace")] = value.decode("utf-8", "surrogateescape")
        place = end
    return found


def _number(text: Union[str, bytes]) -> int:
    if not text.isdigit() or len(text) > 20:
        raise tarfile.HeaderError("a header is damaged")
    return int(text)


class _ChecksummedTar(tarfile.TarFile):
    """Writes an archive; its last member, `meta.json`, has the SHA-256 of all others.

    Equal files give equal bytes, because neither times nor owners are written.
    """

    _meta: Optional[Dict[str, Any]] = None
    _checksums: Dict[str, str]
    closed: bool

    def addfile(self, tarinfo: tarfile.TarInfo, fileobj: Any = None) -> None:
        checksums = self.__dict__.setdefault("_checksums", {})
        tarinfo.mtime = tarinfo.uid = tarinfo.gid = 0
        tarinfo.uname = tarinfo.gname = ""
        tarinfo.mode = 0o755 if tarinfo.isdir() else 0o644
        if fileobj is None:
            if tarinfo.islnk() and tarinfo.linkname in checksums:
                checksums[tarinfo.name] = checksums[tarinfo.linkname]
            super().addfile(tarinfo)
        elif tarinfo.name == META:
            self._meta = json.load(fileobj)
        else:
            if tarinfo.name == _NAMESPACES:
                fileobj = io.BytesIO(b"".join(sorted(fileobj)))
            digest = hashlib.sha256()
            super().addfile(tarinfo, cast(Any, _Hashed(fileobj, digest)))
            checksums[tarinfo.name] = digest.hexdigest()

    def close(self) -> None:
        if self._meta is not None and not self.closed:
            text = json.dumps({**self._meta, "checksums": self._checksums}).encode()
            member = tarfile.TarInfo(META)
            member.size = len(text)
            super().addfile(member, io.BytesIO(text))
        super().close()


class _Hashed:
    def __init__(self, file: IO[bytes], digest: Any) -> None:
        self._file = file
        self._digest = digest

    def read(self, size: int) -> bytes:
        content = self._file.read(size)
        self._digest.update(content)
        return content


def new_archive(path: Union[str, "os.PathLike[str]"]) -> tarfile.TarFile:
    """Opens an archive for writing; the checksums of its members go into its `meta.json`."""
    zipped = gzip.GzipFile("", "wb", fileobj=open(path, "wb"), mtime=0)  # noqa: SIM115
    # Each object closes the one below it, as in `tarfile.open`.
    zipped.myfileobj = cast(Any, zipped.fileobj)
    archive = _ChecksummedTar.open(fileobj=zipped, mode="w")
    archive._extfileobj = False  # type: ignore[attr-defined]
    return archive
