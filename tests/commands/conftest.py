import io
import sys

import pytest

from tagger.commands.predict_file import predict_file
from tests.allennlp_command import SETTINGS, Outcome


@pytest.fixture
def run_here(allennlp, monkeypatch, capsys):
    """Like `run_command`, but in this process."""
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


class Killed(BaseException):
    pass


@pytest.fixture
def killed_in_window(predictor, monkeypatch):
    """Predicts a file with a predictor that dies in the given window, counted from 1."""

    def kill(number, *arguments, **options):
        predict, calls = predictor.predict_batch_json, []

        def until_killed(inputs):
            calls.append(len(inputs))
            if len(calls) == number:
                raise Killed
            return predict(inputs)

        with monkeypatch.context() as killing:
            killing.setattr(predictor, "predict_batch_json", until_killed)
            with pytest.raises(Killed):
                predict_file(predictor, *arguments, **options)

    return kill
