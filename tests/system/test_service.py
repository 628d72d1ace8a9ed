r"""`allennlp serve` under attack, and under load.

    pytest tests/system/test_service.py -s
    TAGGER_ARCHIVE=model.tar.gz TAGGER_TEXTS=texts.txt TAGGER_SECONDS=60 \
        pytest tests/system/test_service.py -s -k clients

Without the variables it takes the toy tagger, three texts, and ten seconds.
"""

import asyncio
import os
from pathlib import Path

import pytest

import tagger
from tests.service.load import load, predict_file
from tests.service.malformed_requests import TEXT, attack_port
from tests.service.running_service import running_service

pytestmark = pytest.mark.system

TEXTS = [TEXT, "Ada lives in Oslo.", "Nothing here."]
#: The least share of the speed of `predict-file`; the clients need a part of the machine too.
LEAST_SHARE = 0.7
MALFORMED_REQUESTS = 2_000
CLIENTS, TEXTS_OF_A_REQUEST, INPUTS = 64, 16, 10_000


@pytest.fixture(scope="module")
def wanted(archive_file):
    return tagger.load(archive_file).tag(TEXT)._asdict()


def test_malformed_requests_are_refused_by_the_thousand(archive_file, wanted):
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
