"""What tells an archive from others: a digest of everything in it that may decide a prediction.

It is taken while the archive is unpacked. `load_archive` gives it to the model as `archive_digest`.
"""

import functools
import hashlib
import json
import os
import re
from typing import Any, Callable, Dict

#: What says something about an archive, and decides nothing.
_METADATA = "meta.json"
#: What is read of the folder of a run.
_OF_RUN = re.compile(r"(config\.json|weights\.th|best\.th)$|(vocabulary|fine_tuned|transformers)/")

#: Of archives that this process has unpacked, by their real paths.
_digests: Dict[str, str] = {}


def note_archive(archive_file: Any, folder: str) -> None:
    """Notes the digest of an archive, which has just been unpacked into a folder and checked."""
    checksums = _noted_checksums(folder) or _checksums(folder, is_run=False)
    _digests[os.path.realpath(archive_file)] = _joined(checksums)


def identifying(load_archive: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a `load_archive` that gives the model the digest of its archive, or of a run's folder."""

    @functools.wraps(load_archive)
    def load(path: Any, *arguments: Any) -> Any:
        archive = load_archive(path, *arguments)
        if os.path.isdir(path):
            digest = _joined(_checksums(path, is_run=True))
        else:
            # A trusted archive is unpacked by AllenNLP.
            digest = _digests.get(os.path.realpath(path)) or _sha256(path)
        archive.model.archive_digest = digest
        return archive

    return load


def _noted_checksums(folder: str) -> Any:
    """Returns what `meta.json` says of all other members; None in an archive of AllenNLP's own."""
    try:
        with open(os.path.join(folder, _METADATA), encoding="utf-8") as file:
            return json.load(file).get("checksums")
    except OSError:
        return None


def _checksums(folder: str, is_run: bool) -> Dict[str, str]:
    paths = [os.path.join(at, name) for at, _, names in os.walk(folder) for name in names]
    by_name = {os.path.relpath(path, folder).replace(os.sep, "/"): path for path in paths}
    return {
        name: _sha256(path)
        for name, path in by_name.items()
        if name != _METADATA and (not is_run or _OF_RUN.match(name)) and os.path.isfile(path)
    }


def _joined(checksums: Dict[str, str]) -> str:
    return hashlib.sha256(json.dumps(checksums, sort_keys=True).encode()).hexdigest()


def _sha256(path: Any) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(2**20):
            digest.update(block)
    return digest.hexdigest()
