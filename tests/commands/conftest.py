import io
import sys

import pytest

from tests.allennlp_command import SETTINGS, Outcome


@pytest.fixture
def run_here(allennlp, monkeypatch, capsys):
    """Runs a command as `run_command` does, but in this process."""
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)

    def run(arguments, folder, text=b""):
        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text), "utf-8"))
        status = 0
        try:
            allennlp(*arguments)
        except SystemExit as end:
            status = end.code
            if isinstance(status, str):
                print(status, file=sys.stderr)
                status = 1
        lines = [stream.replace("\r", "\n").split("\n") for stream in capsys.readouterr()]
        return Outcome(status, *lines)

    return run
