"""`allennlp serve` in a process of its own."""

import asyncio
import importlib.util
import json
import os
import signal
import sys
import time
from contextlib import AsyncExitStack

import pytest

import tagger
from tagger.commands.serve import _name_of, _say
from tagger.service.limits import Limits, make_limits
from tagger.service.server import bind
from tagger.tuning.curves import Curve, DecodingCurves
from tagger.tuning.decoding import Settings
from tagger.tuning.tuned_archive import write_settings
from tests.service.load import load
from tests.service.malformed_requests import answer_of, attack_port, connected, request
from tests.service.running_service import running_service

TEXTS = ["Maria Lindqvist met Paulo Ferraz in Lisbon.", "Ada lives in Oslo.", "Nothing here."]
CURVES = DecodingCurves("mine.txt", {"PER": Curve(3, [0.0], [0.5], [1.0])})


@pytest.fixture(scope="module")
def model(trained):
    return tagger.load(trained / "model.tar.gz")


@pytest.fixture
def serve(allennlp, trained):
    """Runs the command with arguments that it refuses."""

    def serve(*arguments, archive=trained / "model.tar.gz"):
        with pytest.raises(SystemExit) as error:
            allennlp("serve", archive, *arguments)
        message = str(error.value)
        assert message.startswith("serve: ")
        assert "\n" not in message
        return message

    return serve


@pytest.fixture(scope="module")
def service(trained, warm_executable):
    """A service that waits half a second for a body."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(sys, "executable", warm_executable)
        monkeypatch.delenv("TRITON_INTERPRET", raising=False)
        with running_service(
            trained / "model.tar.gz", "--limits", '{"body_seconds": 0.5}'
        ) as service:
            yield service


@pytest.mark.slow
def test_many_clients_are_answered_and_malformed_requests_refused(service, model, capfd):
    tags = {text: model.tag(text).tags for text in TEXTS}
    wanted = model.tag(TEXTS[0])._asdict()
    done = asyncio.run(load(service.port, TEXTS, tags, 64, 0.5, 4))
    assert done.errors == []
    assert len(done.latencies) >= 64
    assert done.latency(0.5) <= done.latency(0.99) <= done.latency(1.0)
    assert asyncio.run(attack_port(service.port, wanted, 1, 0.5)) == []
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.slow
@pytest.mark.usefixtures("warm_python")
def test_what_was_accepted_is_answered_after_sigterm(trained, tmp_path):
    body = json.dumps({"inputs": ["Maria met Paulo in Lisbon . " * 12] * 256}).encode()
    path = tmp_path / "curves.tar.gz"
    write_settings(trained / "model.tar.gz", path, Settings({}, {}), curves=CURVES)

    async def labels(service):
        async with connected(service.port) as (reader, writer):
            writer.write(request(method="GET", path="/labels"))
            return json.loads((await answer_of(reader))[1])

    async def stop(service):
        async with AsyncExitStack() as stack:
            streams = [await stack.enter_async_context(connected(service.port)) for _ in range(4)]
            for _, writer in streams:
                writer.write(request(body))
            # Until the first is at work, and the others wait.
            await asyncio.sleep(0.2)
            service.process.send_signal(signal.SIGTERM)
            sent = time.monotonic()
            answers = await asyncio.gather(*(answer_of(reader) for reader, _ in streams))
            return [status for status, _ in answers], time.monotonic() - sent

    with running_service(path) as service:
        # The archive's own, without `--data`.
        assert asyncio.run(labels(service))["curves_data"] == "mine.txt"
        statuses, seconds = asyncio.run(stop(service))
        assert service.process.wait(timeout=30) == 0
    assert statuses == [200] * 4
    assert seconds > 0.05, "all was done before the signal"


def test_a_model_is_called_as_its_run_or_its_file(tmp_path, monkeypatch):
    (tmp_path / "addresses").mkdir()
    (tmp_path / "addresses/model.tar.gz").touch()
    monkeypatch.chdir(tmp_path / "addresses")
    names = {
        "model.tar.gz": "addresses",
        str(tmp_path / "addresses/model.tar.gz"): "addresses",
        "../addresses": "addresses",
        "best.tar.gz": "best",
        "https://a.org/runs/mine/model.tar.gz": "mine",
    }
    for path, name in names.items():
        assert _name_of(path) == name


def test_a_service_whose_words_nobody_reads_goes_on(monkeypatch):
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        _say("The page is at ...")
        _say("Stopped")


def test_mistakes_are_one_line(serve, trained, tmp_path, monkeypatch):
    with bind("127.0.0.1", 0) as bound:
        port = bound.getsockname()[1]
        assert f"`--port` {port} of 127.0.0.1 is in use" in serve("--port", port)
    assert "nowhere.tar.gz" in serve("--port", 0, archive=tmp_path / "nowhere.tar.gz")
    assert "did you mean `texts`?" in serve("--port", 0, "--limits", '{"text": 1}')
    (tmp_path / "empty.txt").write_text("")
    assert "got no sentence at all" in serve("--port", 0, "--data", tmp_path / "empty.txt")
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "fastapi" else find_spec(name)
    )
    assert "pip install '.[serve]'" in serve()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--port", "65536"], "`--port` 65536 is no port"),
        (["--port", "-1"], "`--port` -1 is no port"),
        (["--host", "a\0b"], "is no address or name of this machine"),
        (["--language", "xyz"], "'xyz'"),
        (["--data", "."], "expected a file, got a folder"),
    ],
)
def test_arguments_that_do_not_fit_are_named(arguments, message, serve):
    assert message in serve("--port", "0", *arguments)


@pytest.mark.parametrize(
    "limits", ['{"texts": 0}', '{"texts": 1.5}', '{"texts": true}', '{"body_seconds": "1"}', "[1]"]
)
def test_limits_are_numbers_above_0(limits, serve):
    assert serve("--limits", limits)


def test_limits_replace_the_default_ones():
    changed = Limits(texts=7, body_seconds=0.5)
    assert make_limits({"texts": 7, "body_seconds": 0.5}) == changed
    assert make_limits({}) == Limits()
