"""Runs `allennlp` commands as a shell would and reports how they end.

With the fixture `warm_python`, their processes start with the libraries already loaded.
"""

import hashlib
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import List, NamedTuple

#: Environment variables that change the commands' messages.
SETTINGS = ("ALLENNLP_LOG_LEVEL", "ALLENNLP_DEBUG", "TAGGER_TRUST_ARCHIVES")


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
    def last_line(self):
        """The last line of standard error, or of standard output if there were no errors."""
        lines = [line for line in (self.errors if self.status else self.output) if line.strip()]
        return lines[-1] if lines else ""

    @property
    def has_traceback(self):
        """Whether a traceback was printed. A user's mistake should never lead to one."""
        return any(line.startswith("Traceback") for line in self.output + self.errors)


class RunningCommand:
    """An `allennlp` command that has been started.

    Args:
        arguments: The arguments of `allennlp`.
        folder: The working directory.
        text: The standard input.
        program: The program to run instead of the `allennlp` beside `sys.executable`.
    """

    def __init__(self, arguments, folder, text=b"", program=None):
        program = program or [str(Path(sys.executable).with_name("allennlp"))]
        self._process = subprocess.Popen(
            [*program, *arguments],
            cwd=folder,
            env={name: os.environ[name] for name in os.environ if name not in SETTINGS},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        reader = ThreadPoolExecutor(max_workers=1)
        # Finishes once the streams are closed, so a warm process behind this one has ended too.
        self._streams = reader.submit(self._process.communicate, text)
        reader.shutdown(wait=False)

    def send(self, number):
        """Sends a signal unless the command has ended."""
        self._process.send_signal(number)

    def has_ended(self):
        """Whether the command has ended; `wait` still gives its outcome."""
        return self._streams.done()

    def wait(self):
        """Waits until the command ends and returns its `Outcome`."""
        # A carriage return redraws a progress bar.
        lines = [
            stream.decode(errors="replace").replace("\r", "\n").split("\n")
            for stream in self._streams.result()
        ]
        return Outcome(self._process.returncode, *lines)


def run_command(arguments, folder, text=b"", program=None):
    """Runs a command to its end. Takes the arguments of `RunningCommand`."""
    return RunningCommand(arguments, folder, text, program).wait()


def digests(folder):
    """The digests of all files below a folder, by name."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
