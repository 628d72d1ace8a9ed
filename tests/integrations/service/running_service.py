"""Starts `allennlp serve` on a free port, and stops it."""

import os
import re
import resource
import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import NamedTuple

READY = re.compile(r"The page is at (http://(\S+):(\d+));")
#: Arguments with which `sys.executable` runs the command `allennlp`.
ALLENNLP = ("-c", "import sys; from allennlp.__main__ import run; sys.argv[0] = 'allennlp'; run()")


class Service(NamedTuple):
    """A running service: its process, the address of its page, and its port on 127.0.0.1."""

    process: "subprocess.Popen[str]"
    url: str
    port: int


@contextmanager
def running_service(archive, *options, open_files=None, **streams):
    """Serves an archive during the block, optionally under a `ulimit -n`, then sends SIGTERM."""
    command = [sys.executable, *ALLENNLP, "serve", str(archive), "--port", "0", *options]
    if open_files is not None:
        command = ["sh", "-c", f'ulimit -n {open_files}; exec "$@"', "sh", *command]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=environment, **streams
    )
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


def allow_open_files(number):
    """Lets this process open this many files, for its ends of the connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < number:
        resource.setrlimit(resource.RLIMIT_NOFILE, (number, hard))
