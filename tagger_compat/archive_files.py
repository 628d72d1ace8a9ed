"""The files of an archive: unpacked into its own folder only, up to a number and a size, and checked.

`meta.json` has the SHA-256 of all other members. `new_archive` writes them, `check_files` refuses a
member that differs.
"""

import gzip
import hashlib
import io
import json
import os
import re
import tarfile
import zlib
from typing import IO, Any, Dict, Iterator, Optional, Set, Tuple, Type, Union, cast

from tagger_compat.archive_contents import check_contents
from tagger_compat.archive_guard import REMEDY, refuse

#: What an archive may unpack to: so many bytes, or so many times its own size.
SIZE_LIMIT, LARGEST_RATIO = 2**28, 50
#: How many members an archive may have; ours have about twenty.
MAX_MEMBERS = 1000

_META = "meta.json"
#: A set, whose order AllenNLP leaves to chance.
_NAMESPACES = "vocabulary/non_padded_namespaces.txt"
#: What is read of an archive, or of the folder of a run.
_IS_READ = re.compile(r"(config\.json|weights\.th|best\.th)$|(vocabulary|fine_tuned|transformers)/")


def unpack(archive_file: str, folder: str) -> None:
    """Unpacks an archive into an empty folder, member by member, and checks that it is whole.

    Raises:
        ConfigurationError: If a member would lie outside of the folder, is a symbolic link or a device,
            or links to what is no member; if the members are too many, or too large together; if one is
            not as `meta.json` says; or if the file is no archive of a model, or is cut off.
    """
    size_limit = _size_limit(archive_file)
    try:
        with (
            gzip.open(archive_file) as unzipped,
            tarfile.open(fileobj=cast(Any, _Limited(unzipped, size_limit)), mode="r|") as archive,
        ):
            _unpack_members(archive, archive_file, folder, size_limit)
            # A damaged header looks like the end; the checksum of gzip comes at the real one.
            rest = _Limited(unzipped, size_limit)
            while rest.read(2**20):
                pass
    except _FILTER_ERRORS as error:
        refuse(f"{archive_file}: {error}")
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        refuse(
            f"{archive_file} is not the archive of a model, or it is cut off ({error})",
            "make or copy it again",
        )
    # An initializer reads an archive of weights alone.
    names = ("config.json", "weights.th")
    if not any(os.path.isfile(os.path.join(folder, name)) for name in names):
        refuse(
            f"{archive_file} is not the archive of a model: it has no `config.json`",
            "name a `model.tar.gz` that training has made",
        )
    check_files(folder, archive_file, is_archive=True)


def _size_limit(archive_file: str) -> int:
    given = os.environ.get("TAGGER_ARCHIVE_BYTES")
    if given is None:
        return max(SIZE_LIMIT, LARGEST_RATIO * os.path.getsize(archive_file))
    if not given.isdecimal():
        refuse(
            f"TAGGER_ARCHIVE_BYTES must be a number of bytes; got {given!r}", "correct or unset it"
        )
    return int(given)


def _unpack_members(archive: Any, archive_file: str, folder: str, size_limit: int) -> None:
    names: Set[str] = set()
    for member in archive:
        reason = _reason_to_refuse(member, names)
        if reason:
            refuse(f"{archive_file}: the member `{member.name}` {reason}")
        names.add(os.path.normpath(member.name))
        if len(names) > MAX_MEMBERS:
            refuse(f"{archive_file} has more than {MAX_MEMBERS} members")
        if archive.fileobj.tell() + member.size > size_limit:
            _refuse_size(archive_file, size_limit)
        archive.extract(member, folder, **_FILTER)


def _refuse_size(archive_file: Any, size_limit: int) -> None:
    refuse(
        f"{archive_file}: the members take more than {size_limit} bytes",
        "set TAGGER_ARCHIVE_BYTES to a larger number if the archive is your own",
    )


class _Limited:
    """A file that refuses to be read beyond a limit, be it by a header that claims a great size."""

    def __init__(self, file: Any, limit: int) -> None:
        self._file = file
        self._limit = limit
        self._num_bytes = 0

    def read(self, size: int) -> bytes:
        content: bytes = self._file.read(size)
        self._num_bytes += len(content)
        # The blocks of 10 kB and the headers of an archive at its limit.
        if self._num_bytes > self._limit + 2**20:
            _refuse_size(self._file.name, self._limit)
        return content


_HAS_FILTER = hasattr(tarfile, "data_filter")
#: Takes away owners and odd permissions (PEP 706).
_FILTER: Dict[str, Any] = {"filter": "data"} if _HAS_FILTER else {}
_FILTER_ERRORS: Tuple[Type[Exception], ...] = (tarfile.FilterError,) if _HAS_FILTER else ()


def _reason_to_refuse(member: tarfile.TarInfo, names: Set[str]) -> str:
    """Says why a member must not be unpacked; empty if it may.

    Names alone decide, as no member is a symbolic link. Where links may be followed, they lead outside
    in Pythons of before June 2025, whatever `tarfile` checks (CVE-2025-4517).
    """
    name, target = os.path.normpath(member.name), os.path.normpath(member.linkname)
    is_known = member.isfile() or member.isdir() or member.islnk()
    is_outside = os.path.isabs(member.name) or ".." in re.split(r"[/\\]", member.name)
    reasons = {
        "is a symbolic link": member.issym(),
        "is neither a file nor a folder": not is_known,
        "is sparse: it claims to be larger than it is": member.issparse(),
        "lies outside of the archive's own folder": is_outside,
        "is there twice": name in names and not member.isdir(),
        "links to what is no member before it": member.islnk() and target not in names,
    }
    return next((reason for reason, applies in reasons.items() if applies), "")


class _ChecksummedTar(tarfile.TarFile):
    """Writes an archive whose last member, `meta.json`, has the SHA-256 of all others.

    Equal files give equal bytes: neither times nor owners are written.
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
        elif tarinfo.name == _META:
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
            member = tarfile.TarInfo(_META)
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
    """Opens an archive for writing; its `meta.json` will have the checksums of its members."""
    zipped = gzip.GzipFile("", "wb", fileobj=open(path, "wb"), mtime=0)  # noqa: SIM115
    # Each closes the one below, as in `tarfile.open`.
    zipped.myfileobj = cast(Any, zipped.fileobj)
    archive = _ChecksummedTar.open(fileobj=zipped, mode="w")
    archive._extfileobj = False  # type: ignore[attr-defined]
    return archive


def check_files(folder: str, name: Any, is_archive: bool) -> None:
    """Checks that the files of an archive are as they were when it was made.

    Args:
        folder: Where it is unpacked; or the folder of a run, whose files may have gone on.
        name: The archive or the folder, for messages.
        is_archive: Whether there must be no further files.

    Raises:
        ConfigurationError: If a file is missing, is new, or differs; if a folder is in its place; or,
            where there are no checksums, if a file of the vocabulary has a line twice. The message names
            the file.
    """
    remedy = f"make or copy the archive again, or {REMEDY}"
    for file in _misplaced_folders(folder):
        refuse(f"{name}: the member `{file}` is a folder, not a file", "make or copy it again")
    found = set(_files_below(folder)) - {_META}
    check_contents(folder, filter(_IS_READ.match, found), name)
    checksums = _checksums(os.path.join(folder, _META), name)
    if checksums is None:
        for file in sorted(_files_below(os.path.join(folder, "vocabulary"))):
            if not file.startswith(".") and file.endswith(".txt"):
                _check_lines(
                    os.path.join(folder, "vocabulary", file), f"{name}: `vocabulary/{file}`"
                )
        return
    for file in sorted(checksums.keys() | (found if is_archive else set())):
        path = os.path.join(folder, file)
        if file not in checksums:
            reason = "was not there when the archive was made"
        elif file not in found:
            reason = "is missing"
        elif _sha256(path) != checksums[file]:
            reason = "has been changed since the archive was made"
        else:
            continue
        refuse(f"{name}: the member `{file}` {reason}", remedy)


def _misplaced_folders(folder: str) -> Iterator[str]:
    """Yields the names of folders that AllenNLP would open as files."""
    vocabulary = os.path.join(folder, "vocabulary")
    namespaces = os.listdir(vocabulary) if os.path.isdir(vocabulary) else []
    opened = [f"vocabulary/{each}" for each in sorted(namespaces) if not each.startswith(".")]
    for file in ["weights.th", _META, *opened]:
        if os.path.isdir(os.path.join(folder, file)):
            yield file


def _checksums(meta_file: str, name: Any) -> Optional[Dict[str, str]]:
    if not os.path.isfile(meta_file):
        return None
    try:
        with open(meta_file, encoding="utf-8") as file:
            checksums = json.load(file).get("checksums")
    except (ValueError, AttributeError, RecursionError):
        checksums = ()
    if not (checksums is None or isinstance(checksums, dict)):
        refuse(
            f"{name}: the member `{_META}` is not as training writes it", "make or copy it again"
        )
    return checksums


def _files_below(folder: str) -> Iterator[str]:
    for parent, _, names in os.walk(folder):
        for name in names:
            yield os.path.relpath(os.path.join(parent, name), folder).replace(os.sep, "/")


def _sha256(path: str) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(2**20):
            digest.update(block)
    return digest.hexdigest()


def _check_lines(path: str, name: str) -> None:
    # As AllenNLP reads it.
    with open(path, encoding="utf-8", errors="replace", newline="") as file:
        lines = re.split(r"\n|\r\n", file.read())
    if len(lines) == len(set(lines)):
        return
    first: Dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        if line in first and number < len(lines):
            refuse(
                f"{name} has {line[:40]!r} twice, in lines {first[line]} and {number}, so indices do "
                f"not fit the weights",
                "make or copy the archive again",
            )
        first.setdefault(line, number)
