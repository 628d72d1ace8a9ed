"""An output that one process at a time writes in windows, and that a later process can complete.

Until the output is complete, the windows lie beside it in the hidden folder `.NAME.predict-file`, or in
the current folder if the output is an address; see `tagger.commands.prediction_parts`.
"""

import hashlib
import json
import os
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Iterator, Mapping, Sequence

from allennlp.common.checks import ConfigurationError
from filelock import FileLock, Timeout

from tagger.commands.prediction_outputs import Encoder, write_lines
from tagger.commands.prediction_parts import (
    Part,
    begin_run,
    lines_of_parts,
    part_name,
    parts_in,
    remove_folder,
    remove_parts,
)
from tagger.common.files import write_atomically
from tagger.common.inputs import PathOrAddress, is_address
from tagger.common.lock import being_written, output_lock, this_process
from tagger.common.outputs import new_output


class ResumableOutput:
    """Claims an output for this process; use it as a context manager.

    `run` says what decides the lines, by name: only an equal run can complete the output. With
    `overwrite`, an output that exists and what another run has written are replaced. `windows` are those
    written so far, with `num_lines` lines, of which `num_errors` stand for an input that was skipped.
    """

    def __init__(
        self, output: PathOrAddress, run: Mapping[str, Any], overwrite: bool = False
    ) -> None:
        self._output = output
        self._folder = _folder_of(output)
        self._overwrite = overwrite
        with ExitStack() as locks:
            locks.enter_context(_locked(self._folder, output))
            if is_address(output):
                locks.enter_context(output_lock(output))
            begin_run(str(self._folder), run, str(self._folder), output, overwrite)
            for left in self._folder.glob(".*.unfinished"):  # By a run that was killed.
                left.unlink()
            found = enumerate(parts_in(str(self._folder)))
            self.windows = [part for number, part in found if part.window == number]
            self._count()
            self._locks = locks.pop_all()

    def __enter__(self) -> "ResumableOutput":
        return self

    def __exit__(self, *error: object) -> None:
        self._locks.close()

    def _count(self) -> None:
        self.num_lines = sum(part.num_lines for part in self.windows)
        self.num_errors = sum(part.num_errors for part in self.windows)

    def write(self, lines: Sequence[bytes], num_errors: int, digest: str) -> None:
        """Adds a window of lines with their line ends; `digest` is that of all inputs up to its end."""
        counts = (len(self.windows), len(lines), num_errors, digest)
        path = self._folder / part_name(*counts)
        with write_atomically(path, overwrite=True) as new:
            new.write_bytes(b"".join(lines))
        self.windows.append(Part(str(path), *counts))
        self.num_lines += len(lines)
        self.num_errors += num_errors

    def keep(self, num_windows: int) -> None:
        """Removes all windows after the first `num_windows`."""
        remove_parts(self.windows[num_windows:])
        del self.windows[num_windows:]
        self._count()

    def finish(self, encode: Encoder = write_lines) -> None:
        """Writes the output from the windows, and removes these, but not after an error."""
        try:
            with new_output(self._output, self._overwrite, self._folder) as file:
                encode(lines_of_parts(self.windows), file)
        except FileExistsError:
            raise ConfigurationError(
                f"`--output` {self._output} was made by another program meanwhile; move it away and "
                f"repeat the command, which keeps the predictions made so far"
            ) from None
        remove_folder(str(self._folder))


def _folder_of(output: PathOrAddress) -> Path:
    """Returns the folder of an output's windows; for an address a name that no other address has."""
    path = Path(output).resolve()
    if is_address(output):
        digest = hashlib.sha256(os.fspath(output).encode()).hexdigest()[:16]
        path = Path(f"{digest}-{path.name[:200]}").resolve()
    return path.with_name(f".{path.name}.predict-file")


@contextmanager
def _locked(folder: Path, output: PathOrAddress) -> Iterator[None]:
    """Holds a lock in a folder, which the system frees when this process ends."""
    try:
        folder.mkdir(exist_ok=True)
    except FileExistsError:
        raise ConfigurationError(
            f"{folder} was not made by `predict-file`, which needs this name; move the file away, or "
            f"give another `--output`"
        ) from None
    lock, holder = FileLock(folder / "lock", timeout=0), folder / "process.json"
    try:
        lock.acquire()
    except Timeout:
        note = {}
        with suppress(OSError, ValueError):  # It is just being written.
            note = json.loads(holder.read_text(encoding="utf-8"))
        raise ConfigurationError(being_written(output, note)) from None
    try:
        holder.write_text(json.dumps(this_process()), encoding="utf-8")
        yield
    finally:
        lock.release()
