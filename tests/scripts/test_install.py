"""The install script, run with a fake Python that records its arguments."""

import os
import pty
import re
import shutil
import subprocess
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, metadata

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from tests.conftest import ROOT

PYTHON = """#!/usr/bin/env bash
version=VERSION
case "$*" in
*'sys.exit'*) [ "${version#3.}" != 9.1 ] ;;
*version_info*) echo $version ;;
'-m venv'*) mkdir -p .venv/bin; cp "$0" .venv/bin/python; touch .venv/pyvenv.cfg; echo venv >> calls ;;
'-m pip install'*)
  echo "${@: -1}" >> calls
  echo "Collecting ${@: -1}"
  echo "a warning of pip" >&2
  [[ -z "${FAILS:-}" || "$*" != *"$FAILS"* ]] || { echo "ERROR: no $FAILS for this Python" >&2; exit 1; }
  ;;
esac
"""
LEAN = [".[export,huggingface,report,search,serve]", "allennlp==2.10.1"]
DEV = [
    ".[dev,docs,export,huggingface,report,search,serve,lexicons]",
    *LEAN[1:],
    "allennlp-models==2.10.1",
]


@pytest.fixture
def project(tmp_path):
    (tmp_path / "scripts").mkdir()
    for name in ("scripts/install.sh", "constraints.txt", "pyproject.toml", "setup.py"):
        shutil.copy(ROOT / name, tmp_path / name)
    for version in ("3.9.1", "3.11.7", "3.12.1"):
        python = tmp_path / f"python{version}"
        python.write_text(PYTHON.replace("VERSION", version))
        python.chmod(0o755)
    return tmp_path


@pytest.fixture
def install(project):
    """Runs the script. Returns its status, standard output, standard error, and the calls."""

    def install(*arguments, stderr=subprocess.PIPE, **environment):
        (project / "calls").write_text("")
        done = subprocess.run(
            [project / "scripts/install.sh", *arguments],
            env={**os.environ, "PYTHON": str(project / "python3.11.7"), **environment},
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )
        said = [(text or "").splitlines() for text in (done.stdout, done.stderr)]
        return done.returncode, *said, (project / "calls").read_text().splitlines()

    return install


def test_the_installation_reports_its_steps_and_hides_pips_output(install):
    status, output, errors, calls = install()
    assert (status, len(output), calls) == (0, 1, ["venv", *LEAN])
    assert "making .venv with Python 3.11.7 and torch" in errors[0]
    assert "2 GB, or 6 GB if pip finds torch for CUDA" in errors[0]
    assert errors[1:] == [
        "install.sh: step 1 of 2, this project and its dependencies",
        "install.sh: step 2 of 2, AllenNLP",
    ]
    assert "done; try" in output[0]
    status, output, errors, calls = install()
    assert "install.sh: .venv is up to date (Python 3.11.7, torch" in output[0]
    assert errors == calls == []


def test_an_existing_installation_is_kept(install, project):
    # The environment keeps its Python, whatever others there are.
    install(PYTHON=str(project / "python3.12.1"))
    assert install(PYTHON="")[3] == []
    # The contributors' tools are added in place and stay after an installation without them.
    assert install("--dev", PYTHON="")[3] == DEV
    assert install(PYTHON="")[3] == install("--dev", PYTHON="")[3] == []
    # Changed requirements are installed in place too, and so is another torch, which stays.
    with open(project / "constraints.txt", "a") as constraints:
        constraints.write("# changed\n")
    status, _, errors, calls = install(PYTHON="")
    assert (status, calls) == (0, DEV)
    assert errors[0] == "install.sh: completing .venv, which has Python 3.12.1; a few minutes"
    assert install(PYTHON="", TORCH="2.12.0")[3] == DEV
    assert "torch==2.12.0\n" in (project / ".venv/constraints.txt").read_text()
    assert "(Python 3.12.1, torch 2.12.0)" in install(PYTHON="")[1][0]
    # Only a request for another Python replaces the environment.
    assert install()[3] == ["venv", *LEAN]


@pytest.mark.parametrize(
    ("python", "message"),
    [
        ("{project}/python3.9.1", "python3.9.1 is Python 3.9.1; expected 3.11 or newer"),
        ("{project}/none", "none does not run: .*No such file or directory"),
        ("{project}/scripts", "scripts does not run: "),
    ],
)
def test_a_python_that_does_not_run_is_reported(python, message, install, project):
    status, output, errors, calls = install(PYTHON=python.format(project=project))
    assert (status, output, calls) == (1, [], [])
    assert len(errors) == 1
    assert re.match(f"install.sh: PYTHON={project}/{message}", errors[0])


def test_a_terminal_shows_the_last_line_of_pip(install):
    terminal, stderr = pty.openpty()
    status, *_ = install(stderr=stderr)
    os.close(stderr)
    shown = ""
    # Once the process has closed the terminal, the rest is read piece by piece until an error.
    with suppress(OSError):
        while piece := os.read(terminal, 10_000):
            shown += piece.decode()
    os.close(terminal)
    assert status == 0
    assert "\r\x1b[Kstep 2 of 2, AllenNLP: Collecting allennlp==2.10.1" in shown
    assert shown.endswith("\r\x1b[K")
    assert shown.count("\n") == 1


@pytest.mark.parametrize("package", ["lexicons", "allennlp==2.10.1", "allennlp-models"])
def test_a_failure_is_shown_in_full_and_not_mistaken_for_success(install, package):
    status, output, errors, _ = install("--dev", FAILS=package)
    assert (status, output) == (1, [])
    assert errors[-4].startswith("Collecting")
    assert errors[-3:-1] == ["a warning of pip", f"ERROR: no {package} for this Python"]
    assert "failed, as shown above; remove the cause and repeat the command" in errors[-1]
    _, _, errors, calls = install("--dev")
    assert "completing .venv" in errors[0]
    assert calls == DEV


def test_each_pinned_release_supports_every_python_that_it_is_pinned_for():
    wrong = []
    for line in (ROOT / "constraints.txt").read_text().splitlines()[1:]:
        if line.startswith("#"):
            continue
        pinned = Requirement(line)
        with suppress(PackageNotFoundError):
            found = metadata(pinned.name)
            supported = SpecifierSet(found.get("Requires-Python", ""))
            for python in ("3.11", "3.12", "3.13") if found["Version"] in pinned.specifier else ():
                is_pinned = pinned.marker is None or pinned.marker.evaluate(
                    {"python_version": python}
                )
                if is_pinned and f"{python}.99" not in supported:
                    wrong.append(f"{line} on {python}")
    assert wrong == []
