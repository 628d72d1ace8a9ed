"""Locks an output against other processes, on this machine and on others."""

import hashlib
import json
import os
import socket
import tempfile
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Dict, Iterator, Mapping, Tuple

from filelock import FileLock, Timeout

from tagger.common.from_allennlp import ConfigurationError
from tagger.common.inputs import PathOrAddress
from tagger.common.outputs import store_of

#: The descriptors of the folders that this process holds, by device and file number.
_held: Dict[Tuple[int, int], int] = {}


def hold_folder(folder: PathOrAddress, option: str) -> None:
    """Lets no other process hold a folder until this one ends; where the system has no locks, it may.

    The lock belongs to the folder itself, so nothing is written, and it ends when the folder is removed.

    Raises:
        ConfigurationError: If another process holds the folder, which `option` has named.
    """
    try:
        import fcntl

        descriptor = os.open(folder, os.O_RDONLY)
    except (ImportError, OSError):
        return
    status = os.fstat(descriptor)
    place = (status.st_dev, status.st_ino)
    if place in _held:
        os.close(descriptor)
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise ConfigurationError(
            f"`{option}` {os.fspath(folder)} is being written by another process; wait for it, or name "
            "another folder"
        ) from None
    except OSError:  # This file system has no locks.
        os.close(descriptor)
        return
    _held[place] = descriptor


@contextmanager
def output_lock(output: PathOrAddress) -> Iterator[None]:
    """Locks an output with a small file beside it, `OUTPUT.lock`, which only one process can create.

    If the process dies, the file remains. Another process on the same machine can then take over the
    lock, because each process also holds a local `FileLock`, which the system releases.
    """
    store, name = store_of(f"{os.fspath(output).rstrip('/')}.lock")
    lock = store.unstrip_protocol(name)
    here = Path(tempfile.gettempdir(), f"{hashlib.sha256(lock.encode()).hexdigest()[:32]}.lock")
    try:
        with FileLock(here, timeout=0):
            note = json.dumps(this_process()).encode()
            try:
                store.pipe_file(name, note, mode="create")
            except FileExistsError:
                holder = _holder(store, name)
                if holder["host"] != socket.gethostname():
                    raise ConfigurationError(
                        f"{being_written(output, holder)}; if that process has ended, delete {lock}"
                    ) from None
                store.pipe_file(name, note)
            try:
                yield
            finally:
                store.rm_file(name)
    except Timeout:
        raise ConfigurationError(being_written(output, _holder(store, name))) from None


def _holder(store: Any, name: str) -> Dict[str, Any]:
    """Reads which process holds a lock, as `this_process` describes it."""
    try:
        holder = json.loads(store.cat_file(name))
        if holder.keys() >= {"process", "host", "since"}:
            return dict(holder)
    except (AttributeError, ValueError):
        pass
    raise ConfigurationError(
        f"{store.unstrip_protocol(name)} was not made by this command, which needs this name; move the "
        f"file away, or give another `--output`"
    )


def this_process() -> Dict[str, Any]:
    """Returns this process's id as `process`, its `host`, and the time as `since`."""
    since = datetime.now().astimezone().isoformat(sep=" ", timespec="seconds")
    return {"process": os.getpid(), "host": socket.gethostname(), "since": since}


def being_written(output: PathOrAddress, holder: Mapping[str, Any]) -> str:
    """Says which process is writing an output."""
    return (
        f"`--output` {os.fspath(output)} is being written by process "
        f"{holder.get('process', 'unknown')} on {holder.get('host', 'an unknown host')} since "
        f"{holder.get('since', 'just now')}; wait for it, or give another name"
    )
