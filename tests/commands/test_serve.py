"""`allennlp serve` in a process of its own."""

import asyncio
import importlib.util
import json
import signal
import time
from contextlib import AsyncExitStack

import pytest

import tagger
from scripts.attack_service import answer_of, attack_port, connected, request
from scripts.load_test_service import load
from scripts.running_service import running_service
from tagger.commands.tune_decoding import write_settings
from tagger.service.limits import Limits, parse_limits
from tagger.service.server import bind
from tagger.tuning.curves import Curve, DecodingCurves
from tagger.tuning.decoding import Settings

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


@pytest.mark.slow
@pytest.mark.usefixtures("warm_python")
def test_many_clients_are_answered_and_malformed_requests_refused(trained, model, capfd):
    tags = {text: model.tag(text).tags for text in TEXTS}
    wanted = model.tag(TEXTS[0])._asdict()
    limits = '{"body_seconds": 0.4}'
    with running_service(trained / "model.tar.gz", "--limits", limits) as service:
        done = asyncio.run(load(service.port, TEXTS, tags, 64, 0.5, 4))
        num_wrong = asyncio.run(attack_port(service.port, wanted, 1, 0.4))
    printed, log = capfd.readouterr()
    assert done.errors == []
    assert len(done.latencies) >= 64
    assert done.latency(0.5) <= done.latency(0.99) <= done.latency(1.0)
    assert num_wrong == 0, printed
    assert "Traceback" not in log
    assert "Meanwhile" in printed


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
    assert "pip install 'allennlp-tagger[serve]'" in serve()


@pytest.mark.parametrize(
    "limits", ['{"texts": 0}', '{"texts": 1.5}', '{"texts": true}', '{"body_seconds": "1"}', "[1]"]
)
def test_limits_are_numbers_above_0(limits, serve):
    assert serve("--limits", limits)


def test_limits_replace_the_default_ones():
    changed = Limits(texts=7, body_seconds=0.5)
    assert parse_limits('{"texts": 7, "body_seconds": 0.5}') == changed
    assert parse_limits("{}") == Limits()
