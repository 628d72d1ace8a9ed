"""Publishes the outputs of a run together, so that the next process can complete a killed publication.

The outputs are first finished in the run's hidden folder. Before the first is published, a record there
says which files they are, so a repeated run knows which outputs it may replace. Texts and
predictions in the folder are removed before the record: as long as they exist, a repeated run can
complete the outputs and remove them.
"""

import json
import os
import shutil
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

from allennlp.common.checks import ConfigurationError

from tagger.common.files import publish, write_atomically
from tagger.common.inputs import PathOrAddress, is_address
from tagger.common.outputs import store_of

RECORD = "publication.json"
#: What a folder that holds no text may have left.
_LOCKS = {"lock", "process.json"}
#: What identifies a version of an output, even after it is renamed.
_Identity = Optional[List[int]]


def is_own(folder: Path, output: PathOrAddress) -> bool:
    """Whether an output is what a killed run with this folder published."""
    recorded = _recorded(folder).get(_key(output), [])
    return recorded != [] and _identity(output) in recorded


def publish_together(
    folder: Path, finished: Sequence[Path], outputs: Sequence[PathOrAddress], overwrite: bool
) -> None:
    """Gives finished files or folders in `folder` the names of outputs, in this order.

    Raises:
        FileExistsError: If an output exists that is not our own, unless `overwrite` is true; nothing is
            published then.
    """
    own = {_key(output): is_own(folder, output) for output in outputs}
    for output in outputs:
        if not (overwrite or own[_key(output)]) and _identity(output) is not None:
            raise FileExistsError(os.fspath(output))
    record = {}
    for path, output in zip(finished, outputs):
        # What stores know of an object is its size.
        identity = [path.stat().st_size] if is_address(output) else _identity(path)
        record[_key(output)] = [identity, *([_identity(output)] if own[_key(output)] else [])]
    with write_atomically(folder / RECORD, overwrite=True) as new:
        new.write_text(json.dumps(record), encoding="utf-8")
    for path, output in zip(finished, outputs):
        _publish(path, output, overwrite or own[_key(output)])


def remove_run(folder: Path) -> None:
    """Removes the folder of a run: what has texts first, then the record, then the locks.

    Raises:
        ConfigurationError: If something cannot be removed.
    """
    try:
        last = [RECORD, *sorted(_LOCKS)]
        texts = sorted(path for path in folder.iterdir() if path.name not in last)
        for path in [*texts, *(folder / name for name in last)]:
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        folder.rmdir()
    except OSError as error:
        raise ConfigurationError(
            f"the output is complete, but {folder} cannot be removed, and may hold texts as they were "
            f"before masks ({error}); remove this folder, or repeat the command"
        ) from None


def has_only_locks(folder: Path) -> bool:
    """Whether a run that was killed while it removed its folder has left only its locks."""
    return folder.is_dir() and {path.name for path in folder.iterdir()} <= _LOCKS


def _publish(finished: Path, output: PathOrAddress, overwrite: bool) -> None:
    if not is_address(output):
        path = Path(output).resolve()
        if finished.is_dir():
            if overwrite and path.exists():
                shutil.rmtree(path)
            finished.rename(path)
        else:
            publish(finished, path, overwrite)
        return
    store, name = store_of(output)
    with finished.open("rb") as file, store.transaction, store.open(name, "wb") as stored:
        shutil.copyfileobj(file, stored)
    finished.unlink()


def _recorded(folder: Path) -> Dict[str, Any]:
    try:
        recorded = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return recorded if isinstance(recorded, dict) else {}


def _key(output: PathOrAddress) -> str:
    return os.fspath(output) if is_address(output) else str(Path(output).resolve())


def _identity(output: PathOrAddress) -> _Identity:
    """Returns the file number, size and time of a file, or the size of an object; None if missing.

    A folder's size and time may change when it is renamed.
    """
    if is_address(output):
        store, name = store_of(output)
        store.invalidate_cache()
        return [store.info(name)["size"]] if store.exists(name) else None
    try:
        found = Path(output).stat()
    except OSError:
        return None
    is_folder = Path(output).is_dir()
    return [found.st_ino] if is_folder else [found.st_ino, found.st_size, found.st_mtime_ns]
