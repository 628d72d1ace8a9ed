"""Times linear-chain CRFs: ours, AllenNLP's, pytorch-crf and torch-struct, and prints tables.

Run: python -m scripts.experiments.benchmarks.crf [--tables crf weightings growth] [--sizes 32x128x9 ...]
    [--repeats 9] [--rounds 2] [--memory]

The table `crf` compares the libraries, each at its own best setting of threads (see
`sides.py`), and `growth` shows how our time grows with sequences and tokens. The
table `weightings` compares our class weightings, and the likelihood with a third of the gold tags
unknown, with the plain likelihood.

All candidates get the same float32 scores and right-padded masks, with lengths uniform in [T/2, T]. A
candidate is only timed if its numbers agree with the reference in float64. `decoding` returns lists,
like AllenNLP's `viterbi_tags`. `--memory` adds the rise of the peak resident size (VmHWM of Linux,
reset before) during one loss with gradient in a separate process. pytorch-crf and torch-struct are
only included if installed (`pip install --no-deps pytorch-crf torch-struct`).
"""

import argparse
import importlib.util
import itertools
import statistics
import sys
import time
from typing import Dict, List, Optional, Sequence

import torch

from scripts.experiments.benchmarks import sides
from scripts.experiments.benchmarks.crf_candidates import (
    TASKS,
    Batch,
    Candidate,
    Size,
    candidates,
    disagreement,
    of_module,
    peak_memory,
    random_batch,
    weighted_candidates,
    with_unknown_tags,
)
from tagger.modules import ConditionalRandomField

WEIGHTED_SIZES = [(32, 128, 9), (128, 512, 33)]
GROWING_SIZES = [(8, 1_000, 9), (8, 2_000, 9), (8, 5_000, 9), (8, 10_000, 9)]
GROWING_SIZES += [(32, 128, 9), (128, 128, 9), (512, 128, 9)]
DEFAULT_SIZES = [(8, 32, 9), (32, 128, 9), (128, 512, 33)]
#: The packages of the compared libraries, by the names of their candidates.
PACKAGES = {
    "AllenNLP": "allennlp",
    "ours": "tagger",
    "pytorch-crf": "torchcrf",
    "torch-struct": "torch_struct",
}
#: The least repeats, and the seconds for each candidate and task beyond which there are no more.
LEAST_REPEATS, MOST_SECONDS = 3, 3.0


def times(found: Dict[str, Candidate], task: str, batch: Batch, repeats: int) -> Dict[str, list]:
    """The milliseconds of at most `repeats` runs of each candidate, in turns, after one to warm up."""
    milliseconds: Dict[str, list] = {name: [] for name in found}
    started = time.perf_counter()
    for repeat in range(repeats + 1):
        if repeat > LEAST_REPEATS and time.perf_counter() > started + MOST_SECONDS * len(found):
            break
        for name, candidate in found.items():
            start = time.perf_counter()
            candidate.run(task, batch)
            if repeat > 0:
                milliseconds[name].append((time.perf_counter() - start) * 1e3)
    return milliseconds


def measure(name: str, options: argparse.Namespace) -> None:
    """Reports the times of one library at all sizes; exits if its numbers are wrong."""
    rows = {}
    for size in options.sizes:
        found = candidates(size[2])
        few = random_batch((min(size[0], 8), *size[1:]))
        difference = disagreement(found[name], found["our reference"], few)
        if difference:
            sys.exit(f"{_name(size)}: {difference}")
        batch = random_batch(size)
        for task in TASKS[1:]:
            milliseconds = times({name: found[name]}, task, batch, options.repeats)[name]
            rows[f"{_name(size)} {task}"] = [each / 1e3 for each in milliseconds]
    sides.report(rows)


def print_crf_table(sizes: Sequence[Size], options: argparse.Namespace) -> None:
    """Compares the libraries."""
    names = [name for name, package in PACKAGES.items() if importlib.util.find_spec(package)]
    given = ["--sizes", *map(_name, sizes), "--repeats", str(options.repeats)]
    compared = [sides.worker("scripts.experiments.benchmarks.crf", name, *given) for name in names]
    comparison = sides.compare(compared, options.rounds, sides.settings(options.policies))
    print(f"{sides.table(comparison, names, 'AllenNLP')}\n")
    absent = [name for name in PACKAGES if name not in names]
    if absent:
        print(
            f"Not installed, so not compared: {', '.join(absent)} (pip install {' '.join(absent)})\n"
        )
    if options.memory:
        print("| BxTxK | | MiB added by loss+gradient |\n|---|---|---|")
        for size, name in itertools.product(sizes, names):
            print(f"| {_name(size)} | {name} | {peak_memory(name, size):.0f} |", flush=True)


def print_weighting_rows(size: Size, repeats: int) -> None:
    """Compares the weightings with the plain likelihood at one size."""
    found, batch = weighted_candidates(size[2], "cpu"), random_batch(size)
    found["partial labels"] = with_unknown_tags(found["plain"], batch)
    milliseconds = times(found, "loss+gradient", batch, repeats)
    plain = statistics.median(milliseconds["plain"])
    for name, own in milliseconds.items():
        ratio = statistics.median(own) / plain
        print(f"| {_name(size)} | {name} | {_cell(own)} | {ratio:.2f} |", flush=True)


def print_growth_row(size: Size, repeats: int) -> None:
    """Times our CRF at one size, in total and per token."""
    found = {"ours": of_module(ConditionalRandomField(size[2]))}
    batch = random_batch(size)
    num_tokens = int(batch.mask.sum())
    cells = []
    for task in TASKS:
        own = times(found, task, batch, repeats)["ours"]
        cells.append(f"{_cell(own)}, {statistics.median(own) / num_tokens * 1e6:.0f} ns a token")
    print(f"| {_name(size)} | {' | '.join(cells)} |", flush=True)


def _cell(own: List[float]) -> str:
    return f"{statistics.median(own):.3g} ({min(own):.3g}..{max(own):.3g})"


def _name(size: Size) -> str:
    return "x".join(map(str, size))


def _size(text: str) -> Size:
    batch_size, num_tokens, num_tags = map(int, text.split("x"))
    return batch_size, num_tokens, num_tags


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Parses the command line and prints the tables."""
    parser = sides.new_parser(__doc__)
    tables = ("crf", "weightings", "growth")
    parser.add_argument("--tables", nargs="+", choices=tables, default=["crf"])
    parser.add_argument("--sizes", nargs="+", type=_size, help="as BxTxK; of `crf`, `weightings`")
    parser.add_argument("--repeats", type=int, default=50, help="at most, in about three seconds")
    parser.add_argument("--memory", action="store_true", help="measure the memory, too")
    options = sides.start(parser, arguments, measure)
    if "crf" in options.tables:
        print_crf_table(options.sizes or DEFAULT_SIZES, options)
    if "weightings" in options.tables:
        print(f"{torch.get_num_threads()} threads, ms: median (range)\n")
        print("| BxTxK | weighting | loss+gradient | times plain |\n|---|---|---|---|")
        for size in options.sizes or WEIGHTED_SIZES:
            print_weighting_rows(size, options.repeats)
    if "growth" in options.tables:
        print(f"\n| BxTxK | {' | '.join(TASKS)} |\n|---|---|---|---|")
        for size in GROWING_SIZES:
            print_growth_row(size, options.repeats)


if __name__ == "__main__":
    main()
