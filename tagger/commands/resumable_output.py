"""A file that one process at a time writes in windows, and that a later process can complete.

Until the output is complete, two hidden files lie beside it, or in the current folder if it is an
address. `.NAME.predict-file` is the *record*: lines
of JSON, to which a run only ever appends. `.NAME.TOKEN.unfinished` is the *part*: what is written so
far. The record holds the random token, so only a file that we made is ever taken for a part.

A record has three kinds of lines. The last line of each kind counts; a new token drops all windows:

    {"predict-file": 1, "token": "0f3b...", "run": {"window": 2048, ...}}
    {"process": 4711, "host": "node7", "since": "2024-05-01 12:00:00+02:00"}
    {"window": 0, "num_lines": 2048, "num_errors": 0, "digest": "9c1d..."}

The process that writes holds a lock on the record. The system frees the lock when that process ends.
"""

import hashlib
import json
import os
import re
import secrets
import socket
from contextlib import ExitStack
from pathlib import Path
from typing import (
    Any,
    BinaryIO,
    Callable,
    Dict,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    cast,
)

from allennlp.common.checks import ConfigurationError

from tagger.common.files import publish
from tagger.common.inputs import PathOrAddress, is_address
from tagger.common.lock import being_written, output_lock, this_process
from tagger.common.outputs import new_output

#: The version of the record's format.
FORMAT = 1


class Window(NamedTuple):
    """What a run has written up to the end of a window.

    `num_errors` of its lines stand for an input that was skipped; the digest is that of all inputs.
    """

    num_lines: int
    num_errors: int
    digest: str


class ResumableOutput:
    """Claims an output for this process; use it as a context manager.

    Args:
        output: The path or the address of the file to write.
        run: What decides the lines, by name. Only an equal run can complete the output.
        overwrite: Whether to replace an output that exists, and to discard what another run has written.

    Attributes:
        windows: The windows written so far.

    Raises:
        ConfigurationError: If another process writes the output, another run has begun it, or a file of
            the user has the record's name.
    """

    def __init__(
        self, output: PathOrAddress, run: Mapping[str, Any], overwrite: bool = False
    ) -> None:
        self._address = os.fspath(output) if is_address(output) else None
        self._output = _file_of(output).resolve()
        self._record_path = self._output.with_name(f".{self._output.name}.predict-file")
        self._overwrite = overwrite
        self.windows: List[Window] = []
        self._record = self._claim()
        self._other_machines = ExitStack()
        try:
            if self._address:
                self._other_machines.enter_context(output_lock(self._address))
            self._part = self._begin(json.loads(json.dumps(run)))
            self._note(**this_process())
        except BaseException:
            self._other_machines.close()
            os.close(self._record)
            raise

    def __enter__(self) -> "ResumableOutput":
        return self

    def __exit__(self, *error: object) -> None:
        self._part.close()
        self._other_machines.close()
        os.close(self._record)

    @property
    def num_lines(self) -> int:
        return self.windows[-1].num_lines if self.windows else 0

    @property
    def num_errors(self) -> int:
        return self.windows[-1].num_errors if self.windows else 0

    def write(self, lines: Sequence[bytes], num_errors: int, digest: str) -> None:
        """Appends a window of lines, each with its line end; the others are as in `Window`."""
        self._part.write(b"".join(lines))
        self._part.flush()
        window = Window(self.num_lines + len(lines), self.num_errors + num_errors, digest)
        self._note(window=len(self.windows), **window._asdict())
        self.windows.append(window)

    def keep(self, num_windows: int) -> None:
        """Cuts off all windows after the first `num_windows`."""
        del self.windows[num_windows:]
        self._part.seek(0)
        for _ in range(self.num_lines):
            self._part.readline()
        self._part.truncate()

    def finish(self, encode: Optional[Callable[[BinaryIO, BinaryIO], None]] = None) -> None:
        """Gives the part the output's name, or writes the output from the part.

        Args:
            encode: Writes the lines of the part to another file; None if the part is the output.

        Raises:
            ConfigurationError: If a file of that name appeared meanwhile. The part is kept.
        """
        self._part.flush()
        part, output = Path(self._part.name), self._address or self._output
        try:
            if encode is None:
                publish(part, self._output, self._overwrite)
            else:
                with part.open("rb") as lines, new_output(output, self._overwrite) as file:
                    encode(lines, file)
                part.unlink()
        except FileExistsError:
            raise ConfigurationError(
                f"`--output` {output} was made by another program meanwhile; move it away and "
                f"repeat the command, which keeps the predictions made so far"
            ) from None
        self._record_path.unlink(missing_ok=True)

    def _claim(self) -> int:
        """Opens and locks the record, which is made if there is none; returns its descriptor."""
        while True:
            try:
                flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL
                record, is_new = os.open(self._record_path, flags, 0o666), True
            except FileExistsError:
                try:
                    record, is_new = os.open(self._record_path, os.O_RDWR | os.O_APPEND), False
                except FileNotFoundError:
                    continue
            try:
                self._lock(record)
                if not is_new and not any(map(_is_start, _notes(record))):
                    raise ConfigurationError(
                        f"{self._record_path} was not made by `predict-file`, which needs this name; "
                        f"move the file away, or give another `--output`"
                    )
                # The process that had the lock may have finished meanwhile, and removed the record.
                if self._record_path.exists() and os.path.samestat(
                    os.stat(self._record_path), os.fstat(record)
                ):
                    return record
            except BaseException:
                os.close(record)
                raise
            os.close(record)

    def _lock(self, record: int) -> None:
        notes = _notes(record)
        holder: Dict[str, Any] = next((note for note in reversed(notes) if "process" in note), {})
        try:
            import fcntl

            fcntl.flock(record, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            pass
        except (ImportError, OSError):  # This system, or this file system, has no such locks.
            if not holder or not _may_be_alive(holder):
                return
        raise ConfigurationError(being_written(self._address or self._output, holder))

    def _begin(self, run: Dict[str, Any]) -> BinaryIO:
        """Opens the part of an equal run, cut off after its last whole window, or a new one."""
        notes = _notes(self._record)
        starts = [index for index, note in enumerate(notes) if _is_start(note)]
        if not starts:
            return self._new_part(run)
        start = notes[starts[-1]]
        windows: List[Window] = []
        for note in notes[starts[-1] + 1 :]:
            if "window" in note:
                windows[note["window"] :] = [Window(*(note[name] for name in Window._fields))]
        path = self._part_path(start["token"])
        if start["run"] != run:
            if windows and not self._overwrite:
                raise ConfigurationError(
                    difference(
                        self._output, start["run"], run, f"{windows[-1].num_lines} predictions"
                    )
                )
            path.unlink(missing_ok=True)
        # A second link to the part is an output that a killed run has just given its name.
        elif path.exists() and path.stat().st_nlink > 1:
            path.unlink()
        if not path.exists():
            return self._new_part(run)
        part = path.open("r+b")
        num_lines = sum(line.endswith(b"\n") for line in part)
        self._part, self.windows = part, windows
        self.keep(sum(window.num_lines <= num_lines for window in windows))
        return part

    def _new_part(self, run: Dict[str, Any]) -> BinaryIO:
        token = secrets.token_hex(8)
        self._note(**{"predict-file": FORMAT, "token": token, "run": run})
        return cast(BinaryIO, self._part_path(token).open("x+b"))

    def _part_path(self, token: str) -> Path:
        return self._output.with_name(f".{self._output.name}.{token}.unfinished")

    def _note(self, **note: Any) -> None:
        # The line break in front ends a line that a killed run has not written whole.
        os.write(self._record, b"\n" + json.dumps(note).encode() + b"\n")


def _file_of(output: PathOrAddress) -> Path:
    """Returns an output's path; for an address a name in the current folder that no other has."""
    if not is_address(output):
        return Path(output)
    address = os.fspath(output)
    return Path(f"{hashlib.sha256(address.encode()).hexdigest()[:16]}-{Path(address).name[:200]}")


def _notes(record: int) -> List[Dict[str, Any]]:
    """Returns the record's lines, without those that are no JSON objects."""
    with os.fdopen(os.dup(record), "rb") as file:
        file.seek(0)
        lines = file.read().splitlines()
    notes = []
    for line in lines:
        try:
            note = json.loads(line)
        except ValueError:
            continue
        if isinstance(note, dict):
            notes.append(note)
    return notes


def _is_start(note: Mapping[str, Any]) -> bool:
    token = note.get("token")
    return (
        note.get("predict-file") == FORMAT
        and isinstance(token, str)
        and re.fullmatch("[0-9a-f]{16}", token) is not None
    )


def _may_be_alive(holder: Mapping[str, Any]) -> bool:
    if holder["host"] != socket.gethostname():
        return True
    try:
        os.kill(holder["process"], 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def difference(
    output: PathOrAddress, begun: Mapping[str, Any], run: Mapping[str, Any], written: str
) -> str:
    """Says in what a run differs from the one that has begun an output, and `written` something."""
    names = sorted(name for name in begun.keys() | run.keys() if begun.get(name) != run.get(name))
    return (
        f"`--output` {os.fspath(output)} was begun by a run with another "
        f"{', '.join(f'`{name}`' for name in names)}; repeat that command to complete it, or add "
        f"--force to discard its {written}"
    )
