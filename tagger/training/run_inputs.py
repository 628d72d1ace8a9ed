"""The data that a run reads, and their digests, which show whether they have changed.

Every command that resumes compares these digests: `train --recover`, `study`, `find-label-errors` and
`add-label`. (`predict-file` reads its inputs from streams, and compares them window by window.)
"""

import glob
import hashlib
import json
import logging
import os
import re
from functools import lru_cache
from pathlib import Path
from typing import Any, Dict, Iterator, Mapping, Optional, Union

from allennlp.common.checks import ConfigurationError

from tagger.common.files import sha256_of_file, write_atomically
from tagger.common.inputs import is_address, open_stored
from tagger.common.locations import resolved
from tagger.common.version import __version__
from tagger.data.dataset_readers.file_lists import listed_files
from tagger.transformers.pretrained import find_transformer

logger = logging.getLogger(__name__)

Folder = Union[str, "os.PathLike[str]"]

#: The file in a run's folder with the digests of what it read.
INPUTS_FILE = "inputs.json"
#: The name of the version of this package in that file.
PACKAGE = "the package tagger"

#: A key with one of these endings may name a folder, a pattern or an address of data.
_OF_DATA = (
    *("_path", "_paths", "_file", "_files", "archive", "directory", "soft_labels", "unlabelled"),
    *("terms", "model_name"),
)
_OF_TRANSFORMERS = "model_name"
#: AllenNLP's way of naming a file in an archive of word vectors.
_IN_ARCHIVE = re.compile(r"\((.*)\)#(.*)")
#: The texts and annotations of brat, which lie side by side.
_SIDE_BY_SIDE = {".ann": ".txt", ".txt": ".ann"}
#: Written beside the files of a Hugging Face data set.
_DESCRIPTION = "dataset_info.json"


def digests_of_inputs(
    config: Mapping[str, Any], run_folder: Optional[Folder] = None
) -> Dict[str, str]:
    """Returns the SHA-256 of everything that a config names outside a run's folder, by name.

    These are files, the files in folders of data, addresses and pretrained transformers.
    """
    digests: Dict[str, str] = {}
    for key, text in _strings(config):
        of_transformer = key.endswith(_OF_TRANSFORMERS) and _digest_of_transformer(text, run_folder)
        if of_transformer:
            digests[f"the transformer {text}"] = of_transformer
        elif key.endswith(_OF_DATA) and is_address(resolved(text)):
            digests.update(_digest_of_address(text))
        else:
            digests.update(_digests_of_files(key, text, run_folder))
    return digests


def files_named(config: Any) -> Iterator[Path]:
    """Yields the local files that strings in a config name, and the files in its folders of data."""
    for key, text in _strings(config):
        yield from _files(key, text)


def _files(key: str, text: str) -> Iterator[Path]:
    in_archive = _IN_ARCHIVE.fullmatch(text)
    try:
        named = in_archive[1] if in_archive else text.partition("!")[0]
        path = Path(resolved(named)).expanduser()
        if path.is_file():
            yield from _with_companions(path)
        elif key.endswith(_OF_DATA):
            yield from _files_in(path)
    except (OSError, RuntimeError, ValueError):  # The string is not a path.
        pass


def _digests_of_files(key: str, text: str, run_folder: Optional[Folder]) -> Dict[str, str]:
    own = run_folder and Path(run_folder).resolve()
    return {
        str(path): _digest(path, status.st_size, status.st_mtime_ns)
        for path in _files(key, text)
        if not (own and path.resolve().is_relative_to(own))
        for status in [path.stat()]
    }


def _strings(config: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Yields each string of a config with its key; a key of data also counts for what is inside."""
    if isinstance(config, Mapping):
        for name, each in config.items():
            yield from _strings(each, key if key.endswith(_OF_DATA) else str(name))
    elif isinstance(config, (list, tuple)):
        for each in config:
            yield from _strings(each, key)
    elif isinstance(config, (str, os.PathLike)):
        yield key, os.fspath(config)


def _with_companions(path: Path) -> Iterator[Path]:
    """Yields a file and those that are read along with it."""
    yield path
    others = [each.path for each in listed_files(path) or ()]
    others.append(path.with_name(_DESCRIPTION))
    if path.suffix in _SIDE_BY_SIDE:
        others.append(path.with_suffix(_SIDE_BY_SIDE[path.suffix]))
    yield from (each for each in others if each.is_file() and each != path)


def _files_in(path: Path) -> Iterator[Path]:
    """Yields the files in a folder or, if there is none, those that fit a pattern."""
    found = path.rglob("*") if path.is_dir() else map(Path, glob.glob(str(path)))  # noqa: PTH207
    yield from sorted(each for each in found if each.is_file() and each.name != ".lock")


@lru_cache(maxsize=4096)
def _digest(path: Path, *_: int) -> str:
    # The other arguments, size and time, make a changed file miss the cache.
    return sha256_of_file(path)


def _digest_of_transformer(name: str, run_folder: Optional[Folder]) -> str:
    """Returns the digest of a transformer, wherever it is found; empty if it is not."""
    # A resumed run can do with its own copy if the original is gone.
    for folder in (None, run_folder):
        try:
            return find_transformer(name, None if folder is None else os.fspath(folder)).source
        except (ConfigurationError, OSError):
            continue
    return ""


def _digest_of_address(address: str) -> Iterator[tuple[str, str]]:
    digest = hashlib.sha256()
    try:
        with open_stored(address) as file:
            while block := file.read(1 << 20):
                digest.update(block)
    except (ConfigurationError, OSError, ValueError):  # Its reader will say so.
        return
    yield address, digest.hexdigest()


def differences(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    """Says which inputs differ between two `digests_of_inputs`, naming three; empty if none do."""
    names = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
    what = {name: f"{name} {'has changed since' if name in now else 'is gone'}" for name in names}
    what.update((name, f"{name} is new") for name in names if name not in before)
    shown = [what[name] for name in names[:3]]
    return ", ".join(shown) + (f" and {len(names) - 3} others" if len(names) > 3 else "")


def record_inputs(config: Mapping[str, Any], folder: Folder) -> None:
    """Writes the digests of what a run reads into its folder, unless they are there already."""
    path = Path(folder, INPUTS_FILE)
    if not path.exists():
        digests = {**digests_of_inputs(config, folder), PACKAGE: __version__}
        with write_atomically(path, overwrite=True) as new:
            new.write_text(json.dumps(digests, indent=2, sort_keys=True), encoding="utf-8")


def check_inputs(config: Mapping[str, Any], folder: Folder) -> None:
    """Raises a `ConfigurationError` if what a run has read has changed since it began."""
    path = Path(folder, INPUTS_FILE)
    if not path.exists():
        logger.warning(
            "The run in %s has no record of its data, so nobody can tell whether they have changed",
            folder,
        )
        return
    before = json.loads(path.read_text(encoding="utf-8"))
    now = {**digests_of_inputs(config, folder), PACKAGE: __version__}
    if reason := differences(before, now):
        raise ConfigurationError(
            f"the run in {os.fspath(folder)} has read other data: {reason}; restore what it has read "
            f"to resume it, or train into another folder"
        )
