"""Runs other projects' own tests, with parts of ours in place of theirs, or with theirs alone."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tests.conftest import ROOT

#: Plugins of pytest that put our parts in place of others, and a `sitecustomize`.
PLUGINS = ROOT / "tests/system/peers"


class Outcome(NamedTuple):
    """How many tests passed, and the names of those that failed, but for those that were too slow."""

    num_passed: int
    failures: set


def copied(source, names, folder):
    """Copies files and folders; tests may write beside themselves, and must not into the sources."""
    for name in names:
        path = Path(source, name)
        if path.is_dir():
            shutil.copytree(path, folder / name)
        else:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, folder / name)


def install_plugins(folder, names):
    """Installs plugins of pytest that the tests use, beside them."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--target", folder / "extra", *names], check=True)


def run_suite(suite, tests, options=(), paths=(), variables=(), cwd=None):
    """Runs the tests of a folder.

    Args:
        suite: The folder.
        tests: What is named on the command line, relative to the folder.
        options: Options of pytest.
        paths: What comes first on `PYTHONPATH`, before this project.
        variables: Further environment variables, as a mapping.
        cwd: Where they run; the folder if it is `None`.
    """
    # pytest's own command leaves the current folder out of `sys.path`.
    command = [str(Path(sys.executable).with_name("pytest")), "-q", "--tb=no", "-rfE"]
    command += ["-p", "no:cacheprovider", "--rootdir", str(suite), *options]
    search = [*paths, ROOT, suite / "extra"]
    settings = {
        # So that no reason is cut off.
        "COLUMNS": "400",
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(map(str, search)),
        "TRANSFORMERS_OFFLINE": "1",
    }
    done = subprocess.run(
        [*command, *(str(suite / each) for each in tests)],
        cwd=cwd or suite,
        env={**os.environ, **settings, **dict(variables)},
        capture_output=True,
        text=True,
    )
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed, done.stdout[-2000:] + done.stderr[-2000:]
    found = re.findall(r"^(?:FAILED|ERROR) (\S+)(.*)$", done.stdout, re.MULTILINE)
    failures = {name for name, reason in found if "Timeout" not in reason}
    return Outcome(int(passed[1]), failures)
