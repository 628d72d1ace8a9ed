"""Shows how close the LSTMs of a training step are to what this machine can multiply.

The BiLSTM is that of `training.py`, on batches of 32 sentences with 20 words. The
sides `products` only multiply random matrices of the same shapes, as often as the LSTM does, with the
two directions at the same time. That is the limit for any LSTM that multiplies step by step. All
figures are billions of floating-point operations a second, each side at its best setting of threads.
The last line says what the cores of the machine add: cores that share their multipliers count as one.

Usage: python -m scripts.experiments.benchmarks.limits [--rounds 1]
"""

import argparse
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import torch
from allennlp.common import Params
from allennlp.modules import Seq2SeqEncoder

import tagger  # noqa: F401  (AllenNLP then knows our components)
from scripts.experiments.benchmarks import sides
from scripts.experiments.benchmarks.machine import num_cores

BATCH_SIZE, NUM_TOKENS, HIDDEN_SIZE, SIZES = 32, 20, 200, (228, 400)
ENCODERS: Dict[str, Dict[str, Any]] = {
    "AllenNLP": {"type": "lstm", "bidirectional": True},
    "ours": {"type": "bilstm"},
    "ours-auto": {"type": "bilstm", "precision": "auto"},
}
TYPES = {"products float32": torch.float32, "products bfloat16": torch.bfloat16}
NAMES = (*ENCODERS, *TYPES)
#: The rows and columns of the large matrices, and how long they are multiplied.
LARGE, SECONDS = 1024, 0.5

#: How often a step multiplies matrices of which sizes, (M, N) times (N, K).
Shapes = List[Tuple[int, Tuple[int, int, int]]]


def shapes(is_training: bool) -> Shapes:
    """Returns the products of one direction of both layers."""
    found: Shapes = []
    words, gates = BATCH_SIZE * NUM_TOKENS, 4 * HIDDEN_SIZE
    for size in SIZES:
        found.append((1, (words, size, gates)))
        found.append((NUM_TOKENS, (BATCH_SIZE, HIDDEN_SIZE, gates)))
        if is_training:
            found.append((1, (words, gates, size)))
            found.append((NUM_TOKENS, (BATCH_SIZE, gates, HIDDEN_SIZE)))
            found.append((1, (gates, words, size)))
            found.append((1, (gates, words, HIDDEN_SIZE)))
    return found


def billions(is_training: bool) -> float:
    """Returns the billions of operations of both directions."""
    return 4e-9 * sum(number * m * n * k for number, (m, n, k) in shapes(is_training))


def multiplication(is_training: bool, dtype: torch.dtype) -> Callable[[], object]:
    """Returns a function that multiplies matrices of the LSTM's shapes."""
    products = [
        (number, torch.randn(m, n).to(dtype), torch.randn(n, k).to(dtype))
        for number, (m, n, k) in shapes(is_training)
    ]
    num_threads = torch.get_num_threads()

    def direction(_: int) -> None:
        torch.set_num_threads(max(num_threads // 2, 1))
        with torch.no_grad():
            for number, left, right in products:
                for _ in range(number):
                    left @ right

    if num_threads == 1:
        return lambda: list(map(direction, range(2)))
    pool = ThreadPoolExecutor(2)
    return lambda: list(pool.map(direction, range(2)))


def lstm(is_training: bool, settings: Dict[str, Any]) -> Callable[[], object]:
    """Returns a function that runs an LSTM forward, or forward and backward."""
    sizes = {"input_size": SIZES[0], "hidden_size": HIDDEN_SIZE, "num_layers": len(SIZES)}
    encoder = Seq2SeqEncoder.from_params(Params({**settings, **sizes}))
    encoder.train(is_training)
    words = torch.randn(BATCH_SIZE, NUM_TOKENS, SIZES[0], requires_grad=is_training)
    mask = torch.ones(BATCH_SIZE, NUM_TOKENS, dtype=torch.bool)

    def run() -> None:
        with torch.set_grad_enabled(is_training):
            states = encoder(words, mask)
            if is_training:
                states.sum().backward()

    return run


def seconds_of(run: Callable[[], object]) -> List[float]:
    """Returns the seconds of runs, for `SECONDS` altogether, after three to warm up."""
    for _ in range(3):
        run()
    found: List[float] = []
    started = time.perf_counter()
    while not found or time.perf_counter() < started + SECONDS:
        before = time.perf_counter()
        run()
        found.append(time.perf_counter() - before)
    return found


def measure(side: str, _: argparse.Namespace) -> None:
    """Reports the seconds of one side."""
    if side == "cores":
        multiply_when_told()
        return
    rows = {}
    for row, is_training in (("LSTM forward", False), ("LSTM training", True)):
        run = (
            lstm(is_training, ENCODERS[side])
            if side in ENCODERS
            else multiplication(is_training, TYPES[side])
        )
        rows[row] = seconds_of(run)
    if side in TYPES:
        left = torch.randn(LARGE, LARGE).to(TYPES[side])
        rows[_large()] = seconds_of(lambda: left @ left)
    sides.report(rows)


def multiply_when_told() -> None:
    """Multiplies large matrices in one thread, once told, and prints how many a second."""
    torch.set_num_threads(1)
    left = torch.randn(LARGE, LARGE)
    for _ in range(3):
        left @ left
    print("ready", flush=True)
    sys.stdin.readline()
    number, started = 0, time.perf_counter()
    while time.perf_counter() < started + 4 * SECONDS:
        left @ left
        number += 1
    print(number / (time.perf_counter() - started), flush=True)


def speed_of_processes(number: int) -> float:
    """Returns how many products a second some processes compute altogether."""
    command = [sys.executable, "-m", "scripts.experiments.benchmarks.limits", "--worker", "cores"]
    pipe = subprocess.PIPE
    workers = [subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) for _ in range(number)]
    pipes: List[Any] = [(worker.stdin, worker.stdout) for worker in workers]
    for _, output in pipes:
        output.readline()
    for told, _ in pipes:
        told.write("go\n")
        told.flush()
    return sum(float(worker.communicate()[0]) for worker in workers)


def print_limits(num_rounds: int, policies: Sequence[str], names: Sequence[str] = NAMES) -> None:
    """Measures and prints the table, and how many cores there are in effect."""
    compared = [sides.worker("scripts.experiments.benchmarks.limits", name) for name in names]
    comparison = sides.compare(compared, num_rounds, sides.settings(policies))
    numbers = {
        "LSTM forward": billions(False),
        "LSTM training": billions(True),
        _large(): 2e-9 * LARGE**3,
    }
    print("GFLOP a second of the LSTM, and of products of the same shapes:\n")
    print(f"{sides.table(comparison, names, 'products float32', numbers)}\n")
    number = num_cores()
    alone, together = speed_of_processes(1), speed_of_processes(number)
    flop = 2e-9 * LARGE**3
    print(
        f"{number} processes that multiply {_large()} in float32 reach {flop * together:.0f} GFLOP a "
        f"second together, one alone {flop * alone:.0f}: {together / alone:.2f} cores in effect"
    )


def _large() -> str:
    return f"{LARGE} x {LARGE}"


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Parses the command line and prints the table."""
    parser = sides.new_parser(__doc__, num_rounds=1)
    parser.add_argument("--sides", nargs="+", choices=NAMES, default=NAMES)
    options = sides.start(parser, arguments, measure)
    print_limits(options.rounds, options.policies, options.sides)


if __name__ == "__main__":
    main()
