"""Unpacks the files of an archive, only into its own folder, and compares them with their checksums.

`meta.json` has the SHA-256 of all other members; `check_files` rejects a member that differs. A digest
of everything that may affect predictions is recorded, and `load_archive` passes it to the model.
"""

import functools
import hashlib
import json
import os
import re
import tarfile
from typing import Any, Callable, Dict, Iterator, Optional, Set

from tagger_compat.archive_contents import check_contents, read_json
from tagger_compat.archive_guard import REMEDY, refuse
from tagger_compat.tar_files import FILES, META, Member, members_of

#: The most characters and parts in a member's name.
MAX_NAME, MAX_DEPTH = 500, 20

#: The files that are read in an archive or in a run's folder.
_IS_READ = re.compile(r"(config\.json|weights\.th|best\.th)$|vocabulary/")
#: The files in a run's folder that affect predictions.
_DECIDES = re.compile(_IS_READ.pattern + "|(fine_tuned|transformers)/")
#: Digests of the archives that this process has unpacked, by real path.
_digests: Dict[str, str] = {}


def unpack(archive_file: str, folder: str) -> None:
    """Unpacks an archive into an empty folder, member by member, and rejects incomplete archives."""
    names: Set[str] = set()
    with members_of(archive_file) as members:
        for member in members:
            name = os.path.normpath(member.name)
            reason = _reason_to_refuse(member, names) or _write(member, folder)
            if reason:
                refuse(f"{archive_file}: the member `{member.name[:80]}` {reason}")
            names.add(name)
    # Initializers may read archives that have only weights.
    if not any(
        os.path.isfile(os.path.join(folder, each)) for each in ("config.json", "weights.th")
    ):
        refuse(
            f"{archive_file} is not the archive of a model: it has no `config.json`",
            "name a `model.tar.gz` from training",
        )
    check_files(folder, archive_file, is_archive=True)
    # The checksums have just been verified, so they can stand for the files.
    checksums = _checksums(os.path.join(folder, META), META) or _sha256_below(folder)
    _digests[os.path.realpath(archive_file)] = _joined(checksums)


def identifying(load_archive: Callable[..., Any]) -> Callable[..., Any]:
    """Sets the model's `archive_digest` to the digest of its archive or run folder."""

    @functools.wraps(load_archive)
    def load(path: Any, *arguments: Any) -> Any:
        archive = load_archive(path, *arguments)
        if os.path.isdir(path):
            digest = _joined(_sha256_below(path, _DECIDES))
        else:
            # AllenNLP unpacks trusted archives, so there is no digest of the members.
            digest = _digests.get(os.path.realpath(path)) or _sha256(path)
        archive.model.archive_digest = digest
        return archive

    return load


def _sha256_below(folder: str, names: "re.Pattern[str]" = re.compile("")) -> Dict[str, str]:
    return {
        name: _sha256(os.path.join(folder, name))
        for name in _files_below(folder)
        if name != META and names.match(name)
    }


def _joined(checksums: Dict[str, str]) -> str:
    return hashlib.sha256(json.dumps(checksums, sort_keys=True).encode()).hexdigest()


def _reason_to_refuse(member: Member, names: Set[str]) -> str:
    """Says why a member must not be unpacked; empty if it may be.

    Checking names is enough, because no member is a symbolic link.
    """
    name, kind = member.name, member.kind
    parts = re.split(r"[/\\]", name)
    is_known = kind in (*FILES, tarfile.DIRTYPE, tarfile.LNKTYPE)
    is_hard_link = kind == tarfile.LNKTYPE
    reasons = {
        "is a symbolic link": kind == tarfile.SYMTYPE,
        "is sparse: it claims to be larger than it is": kind == tarfile.GNUTYPE_SPARSE,
        "is neither a file nor a folder": not is_known,
        "lies outside of the archive's own folder": os.path.isabs(name) or ".." in parts,
        "has a name that is too long": len(name) > MAX_NAME or len(parts) > MAX_DEPTH,
        "has no name": "\0" in name or (os.path.normpath(name) == "." and kind != tarfile.DIRTYPE),
        "is there twice": os.path.normpath(name) in names and kind != tarfile.DIRTYPE,
        "links to what is no member before it": is_hard_link
        and os.path.normpath(member.target) not in names,
    }
    return next((reason for reason, applies in reasons.items() if applies), "")


def _write(member: Member, folder: str) -> str:
    """Writes a member below a folder; if that fails, returns the reason."""
    path = os.path.join(folder, os.path.normpath(member.name))
    try:
        os.makedirs(
            path if member.kind == tarfile.DIRTYPE else os.path.dirname(path), exist_ok=True
        )
        if member.kind == tarfile.LNKTYPE:
            os.link(os.path.join(folder, os.path.normpath(member.target)), path)
        elif member.kind != tarfile.DIRTYPE:
            with open(path, "xb") as file:
                file.writelines(member.content)
    except (FileExistsError, NotADirectoryError):
        return "is in the place of another member"
    except (PermissionError, UnicodeError) as error:
        return f"cannot be written ({type(error).__name__})"
    return ""


def check_files(folder: str, name: Any, is_archive: bool) -> None:
    """Rejects files of an archive or run folder that have changed since it was created.

    No file may be missing, differ, or be a folder. Archives, unlike the folder of a run, may not have
    new files either. Without checksums, the files of the vocabulary may not repeat a line.
    """
    again = "make or copy the archive again"
    vocabulary = os.path.join(folder, "vocabulary")
    namespaces = os.listdir(vocabulary) if os.path.isdir(vocabulary) else []
    opened = sorted(f"vocabulary/{each}" for each in namespaces if not each.startswith("."))
    for file in ["weights.th", META, *opened]:  # AllenNLP would open a folder like a file.
        if os.path.isdir(os.path.join(folder, file)):
            refuse(f"{name}: the member `{file[:80]}` is a folder, not a file", again)
    found = set(_files_below(folder)) - {META}
    checksums = _checksums(os.path.join(folder, META), f"{name}: the member `{META}`")
    for file in sorted(
        (checksums or {}).keys() | (set() if checksums is None or not is_archive else found)
    ):
        wanted = (checksums or {}).get(file)
        if wanted is None:
            reason = "was not there when the archive was made"
        elif file not in found:
            reason = "is missing"
        elif _sha256(os.path.join(folder, file)) != wanted:
            reason = "has been changed since the archive was made"
        else:
            continue
        refuse(f"{name}: the member `{file[:80]}` {reason}", f"{again}, or {REMEDY}")
    check_contents(folder, filter(_IS_READ.match, found), name)
    for file in filter(re.compile(r".*\.txt").fullmatch, opened if checksums is None else ()):
        _check_lines(os.path.join(folder, file), f"{name}: `{file}`")


def _checksums(meta_file: str, name: str) -> Optional[Dict[str, str]]:
    if not os.path.isfile(meta_file):
        return None
    meta = read_json(meta_file, name, remedy="make or copy it again")
    checksums = meta.get("checksums") if isinstance(meta, dict) else ()
    if not (checksums is None or isinstance(checksums, dict)):
        refuse(f"{name} is not as training writes it", "make or copy it again")
    return checksums


def _files_below(folder: str) -> Iterator[str]:
    for parent, _, names in os.walk(folder):
        for name in names:
            yield os.path.relpath(os.path.join(parent, name), folder).replace(os.sep, "/")


def _sha256(path: str) -> str:
    with open(path, "rb") as file:
        digest = hashlib.sha256()
        while block := file.read(2**20):
            digest.update(block)
    return digest.hexdigest()


def _check_lines(path: str, name: str) -> None:
    # Read it like AllenNLP.
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
