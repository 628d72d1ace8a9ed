"""Load test of a service with many clients, which measures errors, latencies and speed."""

import asyncio
import itertools
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import List, NamedTuple

from tests.integrations.service.malformed_requests import answer_of, connected, request
from tests.integrations.service.running_service import ALLENNLP

#: Compare one in this many answers with the output of `predict-file`. More would load the machine.
COMPARED = 10


class Load(NamedTuple):
    """The result of a load test: the seconds of each request, ascending, and in total."""

    latencies: List[float]
    num_texts: int
    seconds: float
    errors: List[str]

    @property
    def texts_per_second(self):
        """The overall speed."""
        return self.num_texts / self.seconds

    def latency(self, share):
        """Returns the time in milliseconds within which this share of the requests was answered."""
        return 1000 * self.latencies[min(int(share * len(self.latencies)), len(self.latencies) - 1)]


def predict_file(archive, texts, num_inputs):
    """Returns the speed of `predict-file` in texts per second, and the tags of each text."""
    repeated = list(itertools.islice(itertools.cycle(texts), max(num_inputs, len(texts))))
    with tempfile.TemporaryDirectory() as folder:
        lines, output = Path(folder, "texts.txt"), Path(folder, "predictions.jsonl")
        lines.write_text("\n".join(repeated), encoding="utf-8")
        command = [
            *ALLENNLP,
            "predict-file",
            str(archive),
            str(lines),
            "--plain",
            "-o",
            str(output),
        ]
        done = subprocess.run(
            [sys.executable, *command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        found = re.search(r"Made \d+ predictions in ([\d.]+) s", done.stdout)
        if done.returncode or not found:
            raise RuntimeError(f"predict-file ended with status {done.returncode}: {done.stdout}")
        with output.open(encoding="utf-8") as predictions:
            tags = {each["text"]: each["tags"] for each in map(json.loads, predictions)}
    return len(repeated) / float(found[1]), tags


async def load(port, texts, tags, num_clients, seconds, num_texts):
    """Lets the clients send requests of `num_texts` texts each for some seconds."""
    supply = itertools.cycle(texts)
    latencies = []
    errors = []
    started = time.perf_counter()

    async def work(number):
        async with connected(port) as (reader, writer):
            for count in itertools.count(number):
                some = list(itertools.islice(supply, num_texts))
                sent = time.perf_counter()
                if sent - started > seconds:
                    return
                writer.write(request(json.dumps({"inputs": some}).encode()))
                status, body = await answer_of(reader)
                latencies.append(time.perf_counter() - sent)
                if status != 200:
                    errors.append(f"{status}: {body[:200]!r}")
                elif count % COMPARED == 0:
                    errors.extend(_differences(body, some, tags))

    try:
        await asyncio.gather(*map(work, range(num_clients)))
    except OSError as error:
        errors.append(repr(error))
    took = time.perf_counter() - started
    return Load(sorted(latencies), num_texts * len(latencies), took, errors)


def _differences(body, texts, tags):
    results = json.loads(body)["results"]
    for text, result in itertools.zip_longest(texts, results):
        if result is None or (result["text"], result["tags"]) != (text, tags[text]):
            yield f"{text!r}: {result}, not {tags[text]}"
