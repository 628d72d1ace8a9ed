"""Starts `allennlp serve` on a free port, and stops it."""

import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import Any, Iterator, NamedTuple

READY = re.compile(r"The page is at (http://(\S+):(\d+));")


class Service(NamedTuple):
    """A service that runs.

    Attributes:
        process: Its process.
        url: The address of its page.
        port: Its port on 127.0.0.1.
    """

    process: "subprocess.Popen[str]"
    url: str
    port: int


@contextmanager
def running_service(archive: Any, *options: str) -> Iterator[Service]:
    """Serves an archive while the block runs, and ends with SIGTERM.

    Args:
        archive: The archive.
        *options: Further arguments of the command.

    Raises:
        RuntimeError: If the service does not start, or does not stop as it should.
    """
    code = "import sys; from allennlp.__main__ import run; sys.argv[0] = 'allennlp'; run()"
    command = [sys.executable, "-c", code, "serve", str(archive), "--port", "0", *options]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    )
    assert process.stdout is not None
    try:
        for line in process.stdout:
            found = READY.search(line)
            if found:
                break
        else:
            raise RuntimeError(f"the service ended with status {process.wait()}")
        yield Service(process, found[1], int(found[3]))
        process.send_signal(signal.SIGTERM)
        status = process.wait(timeout=60)
        if status:
            raise RuntimeError(f"after SIGTERM the service ended with status {status}, not 0")
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
