"""Runs commands of `allennlp` in forked processes, which share one import of the libraries.

A command ends as it would from a shell: same output, same exit status, same answer to signals.
"""

import atexit
import gc
import hashlib
import logging
import os
import signal
import sys
import tempfile
import threading
import warnings
import weakref
from contextlib import contextmanager
from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence


class Outcome(NamedTuple):
    """How a command ended.

    Attributes:
        status: Its exit status; negative if a signal ended it, as in `subprocess`.
        output: The lines of its standard output.
        errors: The lines of its standard error.
    """

    status: int
    output: List[str]
    errors: List[str]

    @property
    def last_line(self) -> str:
        """The last line of an error; that of standard output if there is none."""
        lines = [line for line in (self.errors if self.status else self.output) if line.strip()]
        return lines[-1] if lines else ""

    @property
    def has_traceback(self) -> bool:
        """Whether a traceback is printed, which no user's mistake should lead to."""
        return any(line.startswith("Traceback") for line in self.output + self.errors)


class ForkedCommand:
    """A command of `allennlp` that runs in a process forked from this one.

    Args:
        arguments: What follows `allennlp` on the command line.
        folder: The current folder of the command.
        text: What it reads from standard input.
    """

    def __init__(self, arguments: Sequence[str], folder: Path, text: bytes = b"") -> None:
        import allennlp.commands  # noqa: F401

        import tagger.components  # noqa: F401  (as plugins do)

        # So that the processes share memory.
        gc.freeze()

        self._streams = [tempfile.TemporaryFile() for _ in range(3)]  # noqa: SIM115
        self._streams[0].write(text)
        self._streams[0].seek(0)
        sys.stdout.flush()
        sys.stderr.flush()
        self.process = os.fork()
        if self.process == 0:
            _run(list(arguments), folder, [stream.fileno() for stream in self._streams])

    def send(self, number: signal.Signals) -> None:
        """Sends a signal; does nothing if the command has ended."""
        os.kill(self.process, number)

    def has_ended(self) -> bool:
        """Whether the command has ended; `wait` still gives its outcome."""
        ended = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self.process, ended) is not None

    def wait(self) -> Outcome:
        """Waits for the end of the command."""
        _, status = os.waitpid(self.process, 0)
        lines = []
        for stream in self._streams[1:]:
            stream.seek(0)
            # A carriage return draws a progress bar anew.
            lines.append(stream.read().decode(errors="replace").replace("\r", "\n").split("\n"))
        for stream in self._streams:
            stream.close()
        return Outcome(os.waitstatus_to_exitcode(status), *lines)


def run_command(arguments: Sequence[str], folder: Path, text: bytes = b"") -> Outcome:
    """Runs a command to its end; the arguments are those of `ForkedCommand`."""
    return ForkedCommand(arguments, folder, text).wait()


def _run(arguments: List[str], folder: Path, streams: List[int]) -> None:
    """Runs a command in this process, and ends the process."""
    error: Optional[BaseException] = None
    try:
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        _start_afresh()
        os.chdir(folder)
        sys.argv = ["allennlp", *arguments]
        import allennlp.__main__

        allennlp.__main__.run()
    except BaseException as raised:
        error = raised
    status = 0
    if isinstance(error, SystemExit):
        status = error.code if isinstance(error.code, int) else int(error.code is not None)
        if error.code and status != error.code:
            print(error.code, file=sys.stderr)
    elif error is not None:
        sys.excepthook(type(error), error, error.__traceback__)
        status = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    if isinstance(error, KeyboardInterrupt):
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    os._exit(status & 0xFF)


def _start_afresh() -> None:
    """Undoes what this process has set up for itself, such as a test its own streams."""
    # What it has to do at its end, such as to remove a temporary folder, is not to be done here.
    for each in list(weakref.finalize._registry):  # type: ignore[attr-defined]
        each.atexit = False
    atexit._clear()
    atexit.register(weakref.finalize._exitfunc)  # type: ignore[attr-defined]
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
    logging.getLogger().handlers.clear()
    warnings.filters[:] = [each for each in warnings.filters if each[0] != "error"]  # type: ignore
    warnings.simplefilter("ignore", DeprecationWarning, append=True)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # Executed anew, it sets up the logging.
    sys.modules.pop("allennlp.__main__", None)


@contextmanager
def without_settings() -> Iterator[None]:
    """Takes environment variables away that change what the commands say."""
    names = ("ALLENNLP_LOG_LEVEL", "ALLENNLP_DEBUG", "TAGGER_TRUST_ARCHIVES")
    before = {name: os.environ.pop(name) for name in names if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(before)


def digests(folder: Path) -> Dict[str, str]:
    """The digests of all files of a folder and the folders in it, by name."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
