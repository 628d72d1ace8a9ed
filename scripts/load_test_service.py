"""Loads `allennlp serve` with many clients for a while: errors, latencies, and its speed.

    python scripts/load_test_service.py model.tar.gz texts.txt                    64 clients, 60 seconds
    python scripts/load_test_service.py model.tar.gz texts.txt --texts 1 --seconds 10

Each client sends its next request when it has the answer to the last one. Before that,
`allennlp predict-file` tags the same texts, repeated, on the same machine; its speed does not count the
loading of the model, and its tags are what the service must give. The clients need a part of the machine
too. The script fails if there is an error, or if the service is below 70 % of the speed of
`predict-file`.
"""

import argparse
import asyncio
import itertools
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Sequence, Tuple

from scripts.attack_service import answer_of, connected, request
from scripts.running_service import running_service

#: The least share of the speed of `predict-file`.
LEAST_SHARE = 0.7
#: One of so many answers is compared with the output of `predict-file`; more would load the machine.
COMPARED = 10


class Load(NamedTuple):
    """What came of a load.

    Attributes:
        latencies: The seconds that each request took, ascending.
        num_texts: How many texts were tagged.
        seconds: The time from the first request to the last answer.
        errors: What went wrong.
    """

    latencies: List[float]
    num_texts: int
    seconds: float
    errors: List[str]

    @property
    def texts_per_second(self) -> float:
        """The speed."""
        return self.num_texts / self.seconds

    def latency(self, share: float) -> float:
        """Returns the milliseconds within which this share of the requests was answered."""
        return 1000 * self.latencies[min(int(share * len(self.latencies)), len(self.latencies) - 1)]


def predict_file(
    archive: str, texts: Sequence[str], num_inputs: int
) -> Tuple[float, Dict[str, List[str]]]:
    """Returns the speed of `predict-file`, in texts a second, and the tags of each text.

    Args:
        archive: The archive.
        texts: The texts.
        num_inputs: How many it gets at least; the texts are repeated.
    """
    repeated = list(itertools.islice(itertools.cycle(texts), max(num_inputs, len(texts))))
    with tempfile.TemporaryDirectory() as folder:
        lines, output = Path(folder, "texts.txt"), Path(folder, "predictions.jsonl")
        lines.write_text("\n".join(repeated), encoding="utf-8")
        code = "import sys; from allennlp.__main__ import run; sys.argv[0] = 'allennlp'; run()"
        command = [sys.executable, "-c", code, "predict-file", archive, str(lines), "--plain", "-o"]
        done = subprocess.run(
            [*command, str(output)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        found = re.search(r"made \d+ in ([\d.]+) s", done.stdout)
        if done.returncode or not found:
            raise RuntimeError(f"predict-file ended with status {done.returncode}: {done.stdout}")
        with output.open(encoding="utf-8") as predictions:
            tags = {each["text"]: each["tags"] for each in map(json.loads, predictions)}
    return len(repeated) / float(found[1]), tags


async def load(
    port: int,
    texts: Sequence[str],
    tags: Dict[str, List[str]],
    num_clients: int,
    seconds: float,
    num_texts: int,
) -> Load:
    """Loads a service.

    Args:
        port: Its port.
        texts: What to tag.
        tags: The right tags of each text.
        num_clients: How many requests are under way at a time.
        seconds: How long new requests are sent.
        num_texts: How many texts a request has.
    """
    supply = itertools.cycle(texts)
    latencies: List[float] = []
    errors: List[str] = []
    started = time.perf_counter()

    async def work(number: int) -> None:
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


def _differences(body: bytes, texts: Sequence[str], tags: Dict[str, List[str]]) -> Iterator[str]:
    results: List[Dict[str, Any]] = json.loads(body)["results"]
    for text, result in itertools.zip_longest(texts, results):
        if result is None or (result["text"], result["tags"]) != (text, tags[text]):
            yield f"{text!r}: {result}, not {tags[text]}"


def main(arguments: Sequence[str]) -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("archive", help="a tagger with one tag per token")
    parser.add_argument("file", type=Path, help="a text on each line")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--texts", type=int, default=16, help="in each request (default: 16)")
    parser.add_argument(
        "--inputs", type=int, default=10_000, help="for predict-file, at least (default: 10,000)"
    )
    args = parser.parse_args(arguments)
    lines = map(str.strip, args.file.read_text(encoding="utf-8").splitlines())
    texts = [line for line in lines if line]
    speed, tags = predict_file(args.archive, texts, args.inputs)
    print(f"predict-file: {speed:.0f} texts a second", flush=True)
    with running_service(args.archive) as service:
        done = asyncio.run(load(service.port, texts, tags, args.clients, args.seconds, args.texts))
    share = done.texts_per_second / speed
    print(
        f"{args.clients} clients, {args.texts} texts a request, {done.seconds:.0f} s: "
        f"{len(done.latencies)} requests, {len(done.errors)} errors, "
        f"{done.texts_per_second:.0f} texts a second, {share:.0%} of predict-file"
    )
    percentiles = (("50 %", 0.5), ("90 %", 0.9), ("99 %", 0.99), ("all", 1.0))
    shown = ", ".join(f"{name} {done.latency(part):.0f} ms" for name, part in percentiles)
    print(f"answered within: {shown}")
    for error in done.errors[:5]:
        print(error)
    if done.errors or share < LEAST_SHARE:
        sys.exit(
            "load_test_service: there were errors" if done.errors else "load_test_service: too slow"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
