"""`allennlp serve` in a separate process."""

import asyncio
import importlib.util
import json
import os
import signal
import socket
import sys
import time
from contextlib import AsyncExitStack

import pytest

from tagger.integrations.service.commands.serve import _name_of, _say
from tagger.integrations.service.limits import Limits, make_limits
from tagger.integrations.service.server import bind, is_local, names_of, url_of
from tagger.tools.tuning.curves import Curve, DecodingCurves
from tagger.tools.tuning.decoding import Settings
from tagger.tools.tuning.tuned_archive import write_settings
from tests.integrations.service.half_used_connections import HEALTH, half_uses, hold
from tests.integrations.service.load import load
from tests.integrations.service.malformed_requests import answer_of, attack_port, connected, request
from tests.integrations.service.running_service import running_service

pytestmark = pytest.mark.usefixtures("time_limit")

TEXTS = ["Maria Lindqvist met Paulo Ferraz in Lisbon.", "Ada lives in Oslo.", "Nothing here."]
CURVES = DecodingCurves("mine.txt", {"PER": Curve(3, [0.0], [0.5], [1.0])})


@pytest.fixture
def serve(allennlp, trained):
    """Runs the command with arguments that it must refuse."""

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
    """A service that waits at most half a second for a client."""
    limits = {f"{name}_seconds": 0.5 for name in ("idle", "head", "body", "read")}
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(sys, "executable", warm_executable)
        monkeypatch.delenv("TRITON_INTERPRET", raising=False)
        options = ("--limits", json.dumps({**limits, "address_connections": 100}))
        with running_service(trained / "model.tar.gz", *options) as service:
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


async def _ask(service, *parts, num_answers=1):
    """Sends parts of requests over one connection. Returns the statuses and the last body."""
    async with connected(service.port) as (reader, writer):
        for part in parts:
            writer.write(part)
            await asyncio.sleep(0.02)
        answers = [await asyncio.wait_for(answer_of(reader), 20) for _ in range(num_answers)]
    return [status for status, _ in answers], answers[-1][1]


@pytest.mark.slow
def test_half_used_connections_end_while_others_are_answered(service):
    async def besiege():
        holding = [
            asyncio.create_task(hold(use, service.port, 0.1)) for use in half_uses() for _ in "123"
        ]
        statuses = []
        while not all(task.done() for task in holding):
            statuses += (await _ask(service, HEALTH))[0]
            await asyncio.sleep(0.05)
        return [task.result() for task in holding], statuses

    held, statuses = asyncio.run(besiege())
    assert set(statuses) == {200}
    assert len(held) > 90
    # Each should end within two time limits; the rest allows for a busy machine.
    assert [each for each in held if each.seconds > 10] == []


@pytest.mark.slow
def test_with_too_many_connections_the_longest_idle_one_is_closed(service):
    async def crowd():
        async with AsyncExitStack() as stack:
            streams = [await stack.enter_async_context(connected(service.port)) for _ in range(100)]
            for _, writer in streams:
                writer.write(HEALTH[:-2])
            await asyncio.sleep(0.1)
            statuses, _ = await _ask(service, HEALTH)
            reader, _ = streams[0]
            return statuses, await asyncio.wait_for(answer_of(reader), 20)

    statuses, (refused, body) = asyncio.run(crowd())
    assert statuses == [200]
    assert refused == 503
    assert json.loads(body)["error"]["code"] == "busy"


@pytest.mark.slow
def test_upgrade_requests_are_ignored(service, model):
    body = json.dumps({"text": TEXTS[0]}).encode()
    wish = {"Connection": "Upgrade, HTTP2-Settings", "HTTP2-Settings": "AA"}
    whole = request(body, Upgrade="h2c", **wish)
    chunked = request(Upgrade="h2c", Transfer_Encoding="chunked", **wish)
    chunked = chunked.replace(b"Content-Length: 0\r\n", b"")
    chunked += b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    head = whole[: -len(body)]
    for parts in ([whole], [head, body], [whole[:60], whole[60:], whole], [chunked]):
        num_answers = 2 if len(parts) == 3 else 1
        statuses, answer = asyncio.run(_ask(service, *parts, num_answers=num_answers))
        assert statuses == [200] * num_answers
        assert json.loads(answer)["results"][0]["tags"] == model.tag(TEXTS[0]).tags
    websocket = request(method="GET", path="/health", Upgrade="websocket", Connection="Upgrade")
    assert asyncio.run(_ask(service, websocket))[0] == [200]
    assert asyncio.run(_ask(service, b"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n"))[0] == [400]


@pytest.mark.slow
def test_pipelined_requests_are_answered_in_order_whatever_follows(service):
    ask = request(json.dumps({"text": TEXTS[0]}).encode())
    assert asyncio.run(_ask(service, ask + HEALTH + ask, num_answers=3))[0] == [200] * 3
    # The connection is closed at the first bytes that are not HTTP.
    assert asyncio.run(_ask(service, ask + b"\0\0\r\n\r\n", num_answers=2))[0] == [200, 0]
    huge = HEALTH[:-2] + b"X: " + b"x" * 40_000 + b"\r\n\r\n"
    assert asyncio.run(_ask(service, ask + huge, num_answers=2))[0] == [200, 0]
    assert asyncio.run(_ask(service, huge))[0] == [431]
    # More requests than may wait.
    assert asyncio.run(_ask(service, ask * 40, num_answers=18))[0] == [200] * 17 + [0]


@pytest.mark.slow
@pytest.mark.usefixtures("warm_python")
def test_accepted_requests_are_answered_after_sigterm(trained, tmp_path):
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
            # Until the first request is being processed and the others wait.
            await asyncio.sleep(0.2)
            service.process.send_signal(signal.SIGTERM)
            sent = time.monotonic()
            answers = await asyncio.gather(*(answer_of(reader) for reader, _ in streams))
            return [status for status, _ in answers], time.monotonic() - sent

    with running_service(path) as service:
        # Without `--data`, those stored in the archive.
        assert asyncio.run(labels(service))["curves_data"] == "mine.txt"
        statuses, seconds = asyncio.run(stop(service))
        assert service.process.wait(timeout=30) == 0
    assert statuses == [200] * 4
    assert seconds > 0.05, "all was done before the signal"


def test_a_model_is_named_after_its_run_or_file(tmp_path, monkeypatch):
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


def test_a_service_survives_a_closed_standard_output(monkeypatch):
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        _say("The page is at ...")
        _say("Stopped")


#: Arguments after the archive, and a part of the error.
REFUSALS = [
    ("--port 65536", "`--port` 65536 is no port"),
    ("--port -1", "`--port` -1 is no port"),
    ("--host a\0b", "is no address or name of this machine"),
    ("--language xyz", "'xyz'"),
    ("--data .", "expected a file, got a folder"),
    ("--data empty.txt", "got no sentence at all"),
    ('--limits {"connections":10000000}', "run `ulimit -n"),
    ('--limits {"texts":0}', "`texts` 0; it must be a number above 0, without a fraction"),
    ('--limits {"texts":1.5}', "`texts` 1.5; it must be a number above 0"),
    ('--limits {"texts":true}', "`texts` True; it must be a number above 0"),
    ('--limits {"body_seconds":"1"}', "`body_seconds` '1'; it must be a number above 0"),
    ('--limits {"text":1}', "did you mean `texts`?"),
    ("--limits [1]", "must be a JSON object"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSALS)
def test_invalid_arguments_are_named(arguments, message, serve, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.txt").write_text("")
    assert message in serve("--port", "0", *arguments.split(" "))


def test_missing_files_and_packages_are_named(serve, tmp_path, monkeypatch):
    assert "nowhere.tar.gz" in serve("--port", 0, archive=tmp_path / "nowhere.tar.gz")
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "fastapi" else find_spec(name)
    )
    assert "pip install '.[serve]'" in serve()


def test_limits_replace_the_defaults():
    given = {"texts": 7, "body_seconds": 0.5}
    assert make_limits(given) == Limits(**given)


def test_a_busy_port_is_a_one_line_error():
    with bind("127.0.0.1", 0) as bound:
        port = bound.getsockname()[1]
        message = f"`--port` {port} of 127.0.0.1 is in use; give another, or 0 for any that is free"
        with pytest.raises(OSError, match=message):
            bind("127.0.0.1", port)
        assert url_of(bound) == f"http://127.0.0.1:{port}"


@pytest.mark.parametrize(
    ("host", "message"),
    [
        ("192.0.2.1", "`--host` 192.0.2.1 is no address of this machine"),
        ("a b", "`--host` a b is no address or name of this machine"),
    ],
)
def test_a_host_other_than_this_machine_is_refused(host, message):
    with pytest.raises(OSError, match=message):
        bind(host, 0)


def test_localhost_is_not_reachable_by_other_addresses():
    with bind("127.0.0.1", 0) as bound, socket.socket() as other:
        # A socket bound to all addresses of this machine would have taken this one too.
        other.bind(("127.0.0.2", bound.getsockname()[1]))


def test_the_service_knows_its_reach_and_its_host_names():
    hosts = ("127.0.0.1", "::1", "localhost", "0.0.0.0", "::")
    assert [is_local(host) for host in hosts] == [True, True, True, False, False]
    assert set(names_of("Mine.example", [])) == {"localhost", "mine.example"}
    assert {"localhost", "tagger.example"} <= set(names_of("0.0.0.0", ["Tagger.example"]))
    assert names_of("0.0.0.0", ["*"]) is None
