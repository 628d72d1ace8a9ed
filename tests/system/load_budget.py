"""Loads each archive in a fresh process and reports the time and memory it took.

python -m tests.system.load_budget FOLDER    # prints a line of JSON for each archive
"""

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.conftest import ROOT

#: The budget of an archive of less than a megabyte.
MAX_SECONDS, MAX_MEGABYTES = 10, 1000


def _peak():
    text = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s*(\d+)", text)[1]) / 1024


def _load(path):
    from allennlp.common.checks import ConfigurationError
    from allennlp.models.archival import load_archive

    # Measure the peak from now on.
    Path("/proc/self/clear_refs").write_text("5")
    before, start = _peak(), time.process_time()
    try:
        load_archive(path)
        end, text = "loaded", ""
    except ConfigurationError as error:
        end, text = "refused", str(error)
    except BaseException as error:
        end, text = type(error).__name__, str(error)
    taken = {"seconds": time.process_time() - start, "megabytes": _peak() - before}
    return {"end": end, **taken, "message": text}


def _measure(path):
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(readable)
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        signal.setitimer(signal.ITIMER_PROF, 2 * MAX_SECONDS)
        # Keeps a failure from taking the memory of others.
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + 4 * 2**30,) * 2)
        with os.fdopen(writable, "w") as pipe:
            json.dump(_load(path), pipe)
        os._exit(0)
    os.close(writable)
    with os.fdopen(readable) as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    died = {"end": f"status {status}", "seconds": 0, "megabytes": 0, "message": ""}
    return json.loads(text) if text else died


def check_archives(folder):
    """Loads the archives of a folder and checks that they keep to the budget. Returns their number."""
    command = [sys.executable, "-m", "tests.system.load_budget", str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TOKENIZERS_PARALLELISM": "false"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    for row in rows:
        assert row["end"] in ("loaded", "refused"), row
        assert row["end"] == "loaded" or not row["name"].startswith("good"), row
        assert row["seconds"] < MAX_SECONDS, row
        assert row["megabytes"] < MAX_MEGABYTES, row
        assert len(row["message"]) < 1000, row
        assert row["message"].isprintable(), row
    return len(rows)


def main():
    """Imports the libraries that archives need, then measures the archives of a folder."""
    from allennlp.models.archival import load_archive

    import tagger  # noqa: F401

    folder = Path(sys.argv[1])
    for good in sorted(folder.glob("good-*.tar.gz")):
        load_archive(good)
    for path in sorted(folder.glob("*.tar.gz")):
        print(json.dumps({"name": path.name, **_measure(path)}), flush=True)


if __name__ == "__main__":
    main()
