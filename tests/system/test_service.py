r"""`allennlp serve` under attack and under load.

    pytest tests/system/test_service.py -s
    TAGGER_ARCHIVE=model.tar.gz TAGGER_TEXTS=texts.txt TAGGER_SECONDS=60 \
        pytest tests/system/test_service.py -s -k clients

Without the variables it uses the toy tagger, three texts and ten seconds.
"""

import asyncio
import itertools
import json
import os
import signal
import time
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import pytest

import tagger
from tests.integrations.service.half_used_connections import half_uses, hold
from tests.integrations.service.load import load, predict_file
from tests.integrations.service.malformed_requests import TEXT, attack_port
from tests.integrations.service.running_service import allow_open_files, running_service

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("time_limit")]

TEXTS = [TEXT, "Ada lives in Oslo.", "Nothing here."]
OPEN_FILES = 1024
#: The addresses of the attackers.
SOURCES = [f"127.0.0.{number}" for number in range(1, 6)]
#: The minimum speed relative to `predict-file`. The clients need part of the machine too.
LEAST_SHARE = 0.7
MALFORMED_REQUESTS = 2_000
CLIENTS, TEXTS_OF_A_REQUEST, INPUTS = 64, 16, 10_000


@pytest.fixture(scope="module")
def besieged(archive_file):
    limits = '{"idle_seconds": 4, "head_seconds": 4, "body_seconds": 4, "read_seconds": 4}'
    with running_service(archive_file, "--limits", limits, open_files=OPEN_FILES) as service:
        yield service


@pytest.fixture(scope="module")
def wanted(archive_file):
    return tagger.load(archive_file).tag(TEXT)._asdict()


def _tag(port, source):
    """Tags a text over a new connection. Returns the tags and the seconds."""
    started = time.monotonic()
    connection = HTTPConnection("127.0.0.1", port, timeout=60, source_address=(source, 0))
    with closing(connection):
        headers = {"Content-Type": "application/json"}
        connection.request("POST", "/tag", json.dumps({"text": TEXT}), headers)
        answer = connection.getresponse()
        given = json.loads(answer.read())
        assert answer.status == 200, given
        (result,) = given["results"]
    return result["tags"], time.monotonic() - started


async def _besiege(port, uses, tags, sources):
    """Holds a connection for each use and meanwhile tags over others."""
    holding = [
        asyncio.create_task(hold(use, port, 1.0, source)) for use, source in zip(uses, sources)
    ]
    started = time.monotonic()
    seconds = []
    while not all(task.done() for task in holding):
        # First from another address; once the attackers have connected, from one of theirs.
        source = "127.0.0.9" if time.monotonic() - started < 2 else SOURCES[0]
        given, took = await asyncio.to_thread(_tag, port, source)
        assert given == tags
        seconds.append(took)
        await asyncio.sleep(0.2)
    return [task.result() for task in holding], seconds


@pytest.mark.parametrize("use", list(half_uses()), ids=lambda use: use.name)
def test_half_used_connections_do_not_block_the_service(use, besieged, wanted):
    allow_open_files(3 * OPEN_FILES)
    # More connections than the service may have open files.
    uses = [use] * (OPEN_FILES + 200)
    held, seconds = asyncio.run(
        _besiege(besieged.port, uses, wanted["tags"], itertools.cycle(SOURCES))
    )
    print(f"{use.name}: {len(seconds)} texts meanwhile, the slowest took {max(seconds):.2f} s")
    assert seconds
    # At most three time limits (start, answer, read), plus the delay that the busy machine shows.
    assert max(each.seconds for each in held) < 25 + max(seconds)


def test_it_shuts_down_cleanly_with_half_used_connections(archive_file):
    uses = list(half_uses())

    async def stop(service):
        holding = [asyncio.create_task(hold(use, service.port, 0.5)) for use in uses]
        await asyncio.sleep(2)
        service.process.send_signal(signal.SIGTERM)
        await asyncio.gather(*holding)

    with running_service(archive_file) as service:
        asyncio.run(stop(service))
        assert service.process.wait(timeout=30) == 0


def test_thousands_of_malformed_requests_are_refused(archive_file, wanted):
    with running_service(archive_file, "--limits", '{"body_seconds": 2}') as service:
        wrong = asyncio.run(attack_port(service.port, wanted, MALFORMED_REQUESTS, 2))
    assert wrong == []


def test_many_clients_are_answered_at_the_speed_of_predict_file(archive_file):
    path = os.environ.get("TAGGER_TEXTS")
    lines = Path(path).read_text(encoding="utf-8").splitlines() if path else TEXTS
    texts = [line.strip() for line in lines if line.strip()]
    speed, tags = predict_file(archive_file, texts, INPUTS)
    print(f"predict-file: {speed:.0f} texts a second", flush=True)
    seconds = float(os.environ.get("TAGGER_SECONDS", "10"))
    with running_service(archive_file) as service:
        done = asyncio.run(load(service.port, texts, tags, CLIENTS, seconds, TEXTS_OF_A_REQUEST))
    share = done.texts_per_second / speed
    print(
        f"{CLIENTS} clients, {TEXTS_OF_A_REQUEST} texts a request, {done.seconds:.0f} s: "
        f"{len(done.latencies)} requests, {len(done.errors)} errors, "
        f"{done.texts_per_second:.0f} texts a second, {share:.0%} of predict-file"
    )
    percentiles = (("50 %", 0.5), ("90 %", 0.9), ("99 %", 0.99), ("all", 1.0))
    shown = ", ".join(f"{name} {done.latency(part):.0f} ms" for name, part in percentiles)
    print(f"answered within: {shown}")
    assert done.errors == []
    assert share >= LEAST_SHARE
