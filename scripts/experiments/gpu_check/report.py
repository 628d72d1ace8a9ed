"""Compares the results of `check_gpu.py` with the goals and reports them in Markdown."""

from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

#: The saved data of each part, by its name.
Kept = Dict[str, Dict[str, Any]]


class Goal(NamedTuple):
    """A goal, and what was measured for it."""

    name: str
    bound: float
    is_least: bool
    value: Optional[float] = None

    @property
    def is_met(self) -> Optional[bool]:
        """Whether the goal is met; `None` if nothing was measured."""
        if self.value is None:
            return None
        return self.value >= self.bound if self.is_least else self.value <= self.bound


def judged(kept: Kept) -> List[Goal]:
    """Returns the goals for an H100 with their measurements; none if only the smallest sizes ran."""
    results = {
        name: each["results"]
        for name, each in kept.items()
        if each["status"] == "done" and not each["options"]["is_tiny"]
    }
    return [
        Goal(name, bound, is_least, _found(measure, results))
        for name, bound, is_least, measure in _GOALS
    ]


def _found(measure: Callable[[Any], float], results: Kept) -> Optional[float]:
    """Returns a measurement, or `None` if its part or row is missing."""
    try:
        return measure(results)
    except (KeyError, StopIteration, ValueError):
        return None


def _median(part: Dict[str, Any], candidate: str, task: str) -> float:
    row = next(row for row in part["rows"] if row["candidate"] == candidate)
    return row[task]["median"]


def _faster(results: Kept, shape: str, task: str) -> float:
    part = results[f"crf-{shape}"]
    return _median(part, "AllenNLP", task) / _median(part, "ours", task)


def _copies(results: Kept, shape: str, task: str) -> float:
    part = results[f"crf-{shape}"]
    return _median(part, "ours", task) / part["copy"]["median"]


def _epoch_at(results: Kept, batch_size: int) -> float:
    return next(r["epoch"] for r in results["training"]["rows"] if r["batch"] == batch_size)


def _finetuning(results: Kept) -> float:
    taggers = results["finetuning"]["taggers"]
    return taggers["AllenNLP"]["epoch"] / taggers["ours"]["epoch"]


_GOALS: List[Tuple[str, float, bool, Callable[[Any], float]]] = [
    (
        "CRF, loss with gradient at (128, 512, 33): times AllenNLP's speed",
        100.0,
        True,
        lambda r: _faster(r, "medium", "loss+gradient"),
    ),
    (
        "CRF, decoding to lists at (128, 512, 33): times AllenNLP's speed",
        100.0,
        True,
        lambda r: _faster(r, "medium", "decoding"),
    ),
    (
        "CRF, loss with gradient at (4096, 512, 33): times a copy of the emissions",
        3.0,
        False,
        lambda r: _copies(r, "large", "loss+gradient"),
    ),
    (
        "CRF, Viterbi at (4096, 512, 33): times a copy of the emissions",
        3.0,
        False,
        lambda r: _copies(r, "large", "viterbi"),
    ),
    (
        "CRF, memory beyond the emissions at (4096, 512, 33): times the emissions",
        3.0,
        False,
        lambda r: r["memory"]["ratio"],
    ),
    ("CoNLL-2003, seconds of an epoch at batch 32", 6.0, False, lambda r: _epoch_at(r, 32)),
    (
        "CoNLL-2003, seconds of an epoch at the best batch",
        2.0,
        False,
        lambda r: min(row["epoch"] for row in r["training"]["rows"]),
    ),
    ("MiniLM fine-tuning: times the speed of AllenNLP's own way", 3.0, True, _finetuning),
    (
        "MiniLM fine-tuning: the CRF's share of a step",
        0.02,
        False,
        lambda r: r["finetuning"]["taggers"]["ours"]["crf_share"],
    ),
]


def markdown(kept: Kept, goals: List[Goal]) -> str:
    """Returns the report on the saved data of each part and on the goals from `judged`."""
    lines = ["# What runs on the GPU, and how fast", ""]
    lines += [
        ", ".join(f"{name} {value}" for name, value in versions.items()) + "  "
        for versions in {str(each): each for each in _environments(kept)}.values()
    ]
    lines += ["", "## Goals", "", "| goal | bound | measured | |", "|---|---|---|---|"]
    verdicts = {None: "not measured", True: "met", False: "**fell short**"}
    for goal in goals:
        bound = f"{'at least' if goal.is_least else 'at most'} {goal.bound:g}"
        value = "" if goal.value is None else f"{goal.value:.3g}"
        lines.append(f"| {goal.name} | {bound} | {value} | {verdicts[goal.is_met]} |")
    for name, each in kept.items():
        lines += ["", f"## {name}: {each['status']}", ""]
        if each["status"] != "done":
            lines += ["```", each.get("reason", "").strip(), "```"]
        else:
            lines += [*_table(each["results"]), "", f"Took {each['seconds']:.0f} seconds."]
    return "\n".join(lines) + "\n"


def _environments(kept: Kept) -> List[Dict[str, Any]]:
    return [each["environment"] for each in kept.values() if "environment" in each]


def _table(results: Dict[str, Any]) -> Iterator[str]:
    """Yields a part's single values, then its rows as a table."""
    rows = results.get("rows") or [
        {"tagger": name, **row} for name, row in results.get("taggers", {}).items()
    ]
    for name, value in results.items():
        if name not in ("rows", "taggers"):
            yield f"{name}: {_shown(value)}  "
    if rows:
        columns = list(dict.fromkeys(name for row in rows for name in row if name != "profile"))
        yield ""
        yield "| " + " | ".join(columns) + " |"
        yield "|---" * len(columns) + "|"
        for row in rows:
            yield "| " + " | ".join(_shown(row.get(name, "")) for name in columns) + " |"
        for profile in filter(None, (row.get("profile") for row in rows)):
            yield f"\n```\n{profile}\n```"


def _shown(value: Any) -> str:
    if isinstance(value, dict) and "median" in value:
        return f"{value['median'] * 1e3:.4g} ms (least {value['least'] * 1e3:.4g})"
    if isinstance(value, dict):
        return ", ".join(f"{number} {name}" for name, number in value.items())
    if isinstance(value, list):
        return ", ".join(map(_shown, value))
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value).replace("|", "\\|").replace("\n", " ")
