"""Compares what waiting threads of PyTorch do: spin (ACTIVE), sleep (PASSIVE), or the default.

A process reads OMP_WAIT_POLICY once, so each policy gets separate processes. `1000` stands for PASSIVE
with GOMP_SPINCOUNT=1000: threads spin a thousand times before they sleep, if OpenMP is GNU's. Each
process measures one training step of an unchanged config of a `crf_tagger`, one of ours, with 32
sentences each, and our prediction. They run alone, beside a busy process, with more threads than cores,
and on one core although OpenMP sees all, as in a container with less time than it has cores.

Usage: python -m scripts.experiments.benchmarks.policy [--data data/conll2003] [--seconds 2]
"""

import argparse
import contextlib
import copy
import importlib
import logging
import os
import random
import subprocess
import sys
import tempfile
import time
from functools import partialmethod
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence

import torch
from allennlp.commands.train import TrainModel
from allennlp.common import Params
from tqdm import tqdm

from scripts.experiments.benchmarks import sides
from scripts.experiments.benchmarks.machine import num_cores
from scripts.experiments.benchmarks.prediction import TimedPredictor
from scripts.experiments.benchmarks.sides import Setting
from scripts.experiments.benchmarks.training import add_corpus_options, config_of

POLICIES = ("ACTIVE", "PASSIVE", "default", "1000")
#: A process is stopped after this many seconds.
LIMIT = 60.0


class Condition(NamedTuple):
    """Where the processes run."""

    name: str
    num_threads: int
    is_beside_another: bool = False
    is_on_one_core: bool = False


def conditions(number: int) -> List[Condition]:
    """Returns the conditions on a machine with this many cores."""
    return [
        Condition("one thread", 1),
        Condition("one thread, beside a busy process", 1, is_beside_another=True),
        Condition(f"{number} threads", number),
        Condition(f"{number} threads, beside a busy process", number, is_beside_another=True),
        Condition(f"{2 * number} threads", 2 * number),
        Condition(f"{4 * number} threads", 4 * number),
        Condition(f"{number} threads on one core", number, is_on_one_core=True),
    ]


def training_step(side: str, options: argparse.Namespace, folder: str) -> Callable[[], object]:
    """Returns a function that makes one training step, on a batch of medium length."""
    run_config = copy.deepcopy(config_of(side, options.data, options.sentences))
    random.seed(0)
    torch.manual_seed(0)
    run = TrainModel.from_params(
        Params(run_config), serialization_dir=f"{folder}/{side}", local_rank=0
    )
    trainer: Any = run.trainer
    batches: List[Any] = list(trainer.data_loader)
    batches.sort(key=lambda batch: batch["tokens"]["tokens"]["tokens"].shape[1])
    batch = batches[len(batches) // 2]
    trainer.model.train()

    def step() -> None:
        trainer.optimizer.zero_grad()
        trainer.batch_outputs(batch, for_training=True)["loss"].backward()
        trainer.rescale_gradients()
        trainer.optimizer.step()

    return step


def seconds_of(run: Callable[[], object], most: float) -> List[float]:
    """Returns the seconds of runs, in so many seconds altogether. The first is only for warm-up."""
    found: List[float] = []
    started = time.perf_counter()
    while len(found) < 2 or time.perf_counter() < started + most:
        before = time.perf_counter()
        run()
        found.append(time.perf_counter() - before)
        if found[0] > 3 * most:
            return found  # so slow that the warm-up does not matter
    return found[1:]


def measure(side: str, options: argparse.Namespace) -> None:
    """Reports the seconds of all work."""
    sides.import_downstream("allennlp_models.tagging")
    importlib.import_module("examples.weighted_crf_tagger")
    logging.disable(logging.WARNING)
    tqdm.__init__ = partialmethod(tqdm.__init__, disable=True)
    rows: Dict[str, List[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        predictor = TimedPredictor(
            config_of("ours", options.data, options.sentences),
            f"{options.data}/eng.testb",
            "sequence_tagger",
            2048,
        )
        work = {
            "training step, AllenNLP": training_step("AllenNLP", options, folder),
            "training step, ours": training_step("ours", options, folder),
            f"prediction of {options.sentences} sentences, ours": predictor.run,
        }
        if side == "one core":
            # OpenMP has counted the cores already, so it does not know.
            for thread in os.listdir("/proc/self/task"):
                os.sched_setaffinity(int(thread), {min(os.sched_getaffinity(0))})
        for name, run in work.items():
            rows[name] = seconds_of(run, options.seconds)
    sides.report(rows)


@contextlib.contextmanager
def busy_process(is_wanted: bool) -> Iterator[None]:
    """Keeps one core busy."""
    if not is_wanted:
        yield
        return
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        try:
            yield
        finally:
            process.kill()


def openmp() -> str:
    """Returns the name of the OpenMP library that PyTorch has loaded."""
    path = Path("/proc/self/maps")
    loaded = path.read_text().split() if path.exists() else []
    names = {Path(each).name for each in loaded if "omp" in Path(each).name and ".so" in each}
    return ", ".join(sorted(names)) or "unknown"


def print_table(options: argparse.Namespace) -> None:
    """Measures under all conditions, and prints a row for each kind of work."""
    print(f"OpenMP: {openmp()}. Milliseconds, median:\n")
    print(
        f"| | | {' | '.join(options.policies)} |",
        "|---" * (2 + len(options.policies)) + "|",
        sep="\n",
    )
    given = ["--data", options.data, "--sentences", str(options.sentences)]
    given += ["--seconds", str(options.seconds)]
    load = 0.0
    for number, condition in enumerate(conditions(num_cores()), 1):
        if options.conditions and number not in options.conditions:
            continue
        kind = "one core" if condition.is_on_one_core else "all cores"
        side = sides.worker("scripts.experiments.benchmarks.policy", kind, *given)
        policies = options.policies if condition.num_threads > 1 else ["PASSIVE"]
        with busy_process(condition.is_beside_another):
            # One by one, so that a policy that takes too long does not keep the others from running.
            found = {
                policy: sides.compare([side], 1, [setting], LIMIT)
                for policy in policies
                for setting in [Setting(condition.num_threads, policy)]
            }
        for row in dict.fromkeys(row for each in found.values() for row in each.rows()):
            timings = [found[policy].best(kind, row) for policy in policies]
            cells = [_short(1e3 * each.median) if each else "-" for each in timings]
            cells += [""] * (len(options.policies) - len(cells))
            print(f"| {row} | {condition.name} | {' | '.join(cells)} |", flush=True)
        for comparison in found.values():
            if not condition.is_beside_another:
                load = max(load, comparison.load)
            for reason in comparison.failures.values():
                print(f"{condition.name} failed {reason}", flush=True)
    if load > sides.MOST_LOAD:
        print(f"WARNING: other processes used up to {load:.0%} of a core")


def _short(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Parses the command line and prints the table."""
    parser = sides.new_parser(__doc__, num_rounds=1)
    add_corpus_options(parser, num_sentences=320)
    parser.add_argument("--seconds", type=float, default=2.0, help="for each kind of work")
    parser.add_argument(
        "--conditions", nargs="+", type=int, help="their numbers, from 1; default: all"
    )
    parser.set_defaults(policies=POLICIES)
    print_table(sides.start(parser, arguments, measure))


if __name__ == "__main__":
    main()
