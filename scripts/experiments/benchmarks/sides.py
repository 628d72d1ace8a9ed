"""Compares programs, each at the best setting of its threads.

A *side* is one of the compared programs: a library, or the same library in another precision. PyTorch
reads OMP_WAIT_POLICY once, and what suits one side can slow another down to a third. So each side runs
in separate processes, with one thread and with all, and with threads that spin (ACTIVE) or sleep
(PASSIVE) while they wait. The sides take turns, so that a drift of the machine affects all of them. Of
each setting the median counts, and of each side the best setting, by row of the table. Settings that
are clearly worse run only in the first round.

A side's command measures some rows and ends with `report`.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from scripts.experiments.benchmarks.machine import (
    ROOT,
    busy_seconds,
    load_of_others,
    machine,
    num_cores,
    own_seconds,
)

#: Where scripts/install.sh --dev installs AllenNLP's tagger.
DOWNSTREAM = ROOT / ".venv/downstream"
POLICIES = ("ACTIVE", "PASSIVE")
#: The share of one core that other processes may use.
MOST_LOAD = 0.1
#: Settings slower than the best by this factor in all rows are not tried a second time.
HOPELESS = 1.25


class Setting(NamedTuple):
    """How many threads a process has, and what those do that wait.

    `policy` is ACTIVE, PASSIVE, `default` (of PyTorch's OpenMP), or a number of spins after which a
    thread sleeps.
    """

    num_threads: int
    policy: str

    def variables(self) -> Dict[str, str]:
        """Returns the environment variables."""
        number = str(self.num_threads)
        variables = {"OMP_NUM_THREADS": number, "NUMBA_NUM_THREADS": number}
        if self.policy.isdecimal():
            return {**variables, "OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": self.policy}
        # An empty value means the default, and keeps `import tagger` from setting another.
        value = "" if self.policy == "default" else self.policy
        return {**variables, "OMP_WAIT_POLICY": value}

    def __str__(self) -> str:
        if self.num_threads == 1:
            return "1 thread"
        spins = " spins" if self.policy.isdecimal() else ""
        return f"{self.num_threads} threads, {self.policy}{spins}"


class Side(NamedTuple):
    """A program to compare: its name in the tables, and the command that measures its rows."""

    name: str
    command: Sequence[str]


class Timing(NamedTuple):
    """The seconds that a side took for a row with one setting."""

    seconds: List[float]
    setting: Setting
    #: What else the side's command told about the row.
    facts: Any = None

    @property
    def median(self) -> float:
        """The median of the seconds."""
        return statistics.median(self.seconds)


class Comparison:
    """All timings of a comparison."""

    def __init__(self) -> None:
        self.failures: Dict[str, str] = {}
        #: The largest share of a core that other processes used while a side ran.
        self.load = 0.0
        self._timings: Dict[Tuple[str, str], Dict[Setting, Timing]] = {}

    def add(self, side: str, setting: Setting, rows: Mapping[str, Mapping[str, Any]]) -> None:
        """Adds what a side's command reported."""
        for row, reported in rows.items():
            of_row = self._timings.setdefault((side, row), {})
            earlier = of_row[setting].seconds if setting in of_row else []
            of_row[setting] = Timing(
                [*earlier, *reported["seconds"]], setting, reported.get("facts")
            )

    def rows(self) -> List[str]:
        """Returns the names of all rows."""
        return list(dict.fromkeys(row for _, row in self._timings))

    def timings(self, side: str, row: str) -> List[Timing]:
        """Returns a side's timings of a row, the best one first."""
        return sorted(self._timings.get((side, row), {}).values(), key=lambda each: each.median)

    def best(self, side: str, row: str) -> Optional[Timing]:
        """Returns a side's timing of a row with its best setting; None if it has none."""
        return next(iter(self.timings(side, row)), None)

    def at(self, side: str, row: str, setting: Setting) -> Optional[Timing]:
        """Returns a side's timing of a row with one setting; None if it has none."""
        return self._timings.get((side, row), {}).get(setting)

    def ratio(self, row: str, side: str, to: str) -> Optional[float]:
        """Returns how many times as fast a side is as another, both with their best settings."""
        own, others = self.best(side, row), self.best(to, row)
        return others.median / own.median if own and others else None

    def is_hopeless(self, side: str, setting: Setting) -> bool:
        """Whether a side was much slower with this setting than with its best one, in all rows."""
        pairs = [
            (at.median, self.timings(side, row)[0].median)
            for row in self.rows()
            if (at := self.at(side, row, setting)) is not None
        ]
        return bool(pairs) and all(own > HOPELESS * best for own, best in pairs)


def settings(policies: Sequence[str] = POLICIES) -> List[Setting]:
    """Returns the settings to try. A single thread never waits, so it needs one policy only."""
    number = num_cores()
    of_all = [Setting(number, policy) for policy in policies] if number > 1 else []
    return [Setting(1, "PASSIVE"), *of_all]


def compare(
    sides: Sequence[Side],
    num_rounds: int,
    tried: Sequence[Setting],
    limit: float = 600,
) -> Comparison:
    """Runs each side with each setting, in turns.

    Args:
        sides: The sides. Every second round starts with the last.
        num_rounds: How often each side runs with each setting.
        tried: The settings, such as those of `settings`.
        limit: Seconds after which a process is stopped; this counts as a failure.

    Returns:
        The timings. A side that fails is named in `failures` and not run again.
    """
    comparison = Comparison()
    for number in range(num_rounds):
        for setting in tried:
            for side in sides[:: -1 if number % 2 else 1]:
                if side.name in comparison.failures or (
                    number > 0 and comparison.is_hopeless(side.name, setting)
                ):
                    continue
                print(f"round {number + 1}: {side.name}, {setting} ...", file=sys.stderr)
                environment = {**os.environ, **setting.variables()}
                try:
                    rows, load = _run(side.command, environment, limit)
                except RuntimeError as error:
                    comparison.failures[side.name] = f"at {setting}: {error}"
                    continue
                comparison.load = max(comparison.load, load)
                comparison.add(side.name, setting, rows)
    return comparison


def report(rows: Mapping[str, Sequence[float]], facts: Optional[Mapping[str, Any]] = None) -> None:
    """Prints a side's seconds, by row, for the process that compares; nothing may be printed later."""
    told = {
        row: {"seconds": seconds, "facts": (facts or {}).get(row)} for row, seconds in rows.items()
    }
    print(json.dumps(told), flush=True)


def worker(module: str, side: str, *arguments: str) -> Side:
    """Returns the side that `python -m MODULE --worker SIDE ARGUMENTS` measures."""
    return Side(side, [sys.executable, "-m", module, "--worker", side, *arguments])


def table(
    comparison: Comparison,
    sides: Sequence[str],
    peer: str,
    numbers: Optional[Mapping[str, float]] = None,
) -> str:
    """Returns a Markdown table of each row and side: the best setting, and the speed relative to a peer.

    Args:
        comparison: The timings.
        sides: The names of the sides, in order.
        peer: The side that others are compared with.
        numbers: How many things a row's seconds are for, to print things a second instead of ms.
    """

    def cell(row: str, seconds: float) -> str:
        return _short(numbers[row] / seconds if numbers else 1e3 * seconds)

    unit = "a second" if numbers else "ms"
    lines = [f"| | | {unit} (range) | best at | times {peer} | other settings |", "|---" * 6 + "|"]
    for row in comparison.rows():
        for side in sides:
            timings = comparison.timings(side, row)
            if not timings and side not in comparison.failures:
                continue
            if not timings:
                lines.append(f"| {row} | {side} | - | | | |")
                continue
            ends = sorted((min(timings[0].seconds), max(timings[0].seconds)), reverse=bool(numbers))
            low, high = (cell(row, end) for end in ends)
            ratio = comparison.ratio(row, side, peer)
            rest = "; ".join(f"{cell(row, each.median)} at {each.setting}" for each in timings[1:])
            lines.append(
                f"| {row} | {side} | {cell(row, timings[0].median)} ({low}..{high}) "
                f"| {timings[0].setting} | {_short(ratio) if ratio else '-'} | {rest} |"
            )
    return "\n".join([*lines, *notes(comparison)])


def notes(comparison: Comparison) -> List[str]:
    """Returns lines about sides that failed, and a warning if other processes were busy."""
    lines = [f"{side} failed {reason}" for side, reason in comparison.failures.items()]
    if comparison.load > MOST_LOAD:
        lines.append(
            f"WARNING: other processes used up to {comparison.load:.0%} of a core; repeat this on an "
            f"idle machine"
        )
    return ["", *lines] if lines else []


def new_parser(description: str, num_rounds: int = 2) -> argparse.ArgumentParser:
    """Returns a parser with the options that all comparisons have."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--rounds", type=int, default=num_rounds, help="processes of each side and setting"
    )
    parser.add_argument(
        "--policies", nargs="+", default=POLICIES, help="of threads that wait (default: both)"
    )
    parser.add_argument(
        "--busy", action="store_true", help="measure even if other processes are running"
    )
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    return parser


def start(
    parser: argparse.ArgumentParser,
    arguments: Optional[Sequence[str]],
    measure: Callable[[str, argparse.Namespace], None],
) -> argparse.Namespace:
    """Parses the arguments. As the worker of a side, measures this side and exits.

    Otherwise prints what the figures are measured on, or exits if other processes are running.
    """
    options = parser.parse_args(arguments)
    if options.worker:
        measure(options.worker, options)
        sys.exit()
    load = load_of_others()
    if load > MOST_LOAD and not options.busy:
        sys.exit(
            f"other processes use {load:.0%} of a core, more than {MOST_LOAD:.0%}, so figures would be "
            f"wrong; wait until the machine is idle, or give --busy to measure anyway"
        )
    print(f"{machine()}\n", flush=True)
    return options


def import_downstream(module: str) -> None:
    """Imports a peer's package, also from the folder of scripts/install.sh --dev; exits without it."""
    sys.path.append(str(DOWNSTREAM))
    try:
        __import__(module)
    except ImportError as error:
        sys.exit(
            f"{error}; run scripts/install.sh --dev, or pip install --no-deps allennlp-models==2.10.1"
        )


def _run(
    command: Sequence[str], environment: Mapping[str, str], limit: float
) -> Tuple[Dict[str, Any], float]:
    """Runs a side's command; returns what it reported, and the share of a core that others used."""
    paths = filter(None, [str(ROOT), environment.get("PYTHONPATH", "")])
    before, started = (busy_seconds(), own_seconds()), time.perf_counter()
    try:
        done = subprocess.run(
            command,
            check=False,
            env={**environment, "PYTHONPATH": os.pathsep.join(paths)},
            capture_output=True,
            text=True,
            timeout=limit,
        )
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"stopped after {limit:g} seconds") from None
    if done.returncode != 0:
        last = (done.stderr.strip() or f"code {done.returncode}").splitlines()[-1]
        raise RuntimeError(last)
    others = (busy_seconds() - before[0]) - (own_seconds() - before[1])
    load = max(others, 0.0) / (time.perf_counter() - started)
    return json.loads(done.stdout.strip().splitlines()[-1]), load


def _short(number: float) -> str:
    """Returns three digits of a number, without an exponent."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"
