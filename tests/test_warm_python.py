"""What starts warm does what `python` does, but sooner."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

REPORT = """
import json, os, sys
names = ("PYTHONPATH", "ANSWER")
print(json.dumps([sys.argv, sys.path, os.getcwd(), [os.environ.get(name) for name in names], __name__]))
"""


def started(*arguments, **kwargs):
    return subprocess.Popen([sys.executable, *arguments], text=True, **kwargs)


@pytest.fixture
def both(request, monkeypatch):
    """Runs a command with the real interpreter, then with the warm one; gives what each printed."""

    def run(*arguments, **kwargs):
        command = [*arguments]
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **kwargs}
        first = subprocess.run([sys.executable, *command], text=True, **streams)
        request.getfixturevalue("warm_python")
        return first, subprocess.run([sys.executable, *command], text=True, **streams)

    return run


@pytest.mark.parametrize("how", ["-c", "-m", "file"])
def test_arguments_folder_and_environment_are_those_of_the_caller(how, both, tmp_path):
    (tmp_path / "report.py").write_text(REPORT)
    what = {"-c": ["-c", REPORT], "-m": ["-m", "report"], "file": ["report.py"]}[how]
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}/a:{tmp_path}/b", "ANSWER": "42"}
    real, warm = both(*what, "x", "-y", cwd=tmp_path, env=environment)
    assert warm.stdout == real.stdout
    assert json.loads(warm.stdout)[3][1] == "42"
