"""Reads, writes and summarises the results of a study's runs."""

import csv
import json
import statistics
from pathlib import Path
from typing import Any, Dict, List, Mapping, NamedTuple, Sequence

from tagger.tools.runs.jobs import METRICS_FILE, Job

#: A spreadsheet takes a cell that starts with one of these for a formula, but not after an apostrophe.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


#: The title of the column with the minutes of training.
MINUTES = "minutes"
# AllenNLP's metric, a text.
_DURATION = "training_duration"


class Result(NamedTuple):
    """A finished run.

    Attributes:
        factors: What distinguishes the run from others, by name; the seed comes last.
        metrics: The run's metrics under AllenNLP's names, `best_validation_...` and `test_...`.
    """

    factors: Mapping[str, Any]
    metrics: Mapping[str, float]


def read_results(jobs: Sequence[Job], study: Path) -> List[Result]:
    """Returns the results of all finished jobs of a study, which lie in its folder."""
    return [
        Result(job.factors, json.loads((job.folder(study) / METRICS_FILE).read_text()))
        for job in jobs
        if job.is_finished(study)
    ]


def write_results(results: Sequence[Result], path: Path) -> None:
    """Writes a CSV file with one line per run: first its factors, then its metrics.

    A text that a spreadsheet would take for a formula, such as a label `=1+1`, gets an apostrophe in
    front. `read_text_cell` takes it away.
    """
    factors = list(results[0].factors) if results else []
    metrics = dict.fromkeys(
        metric
        for result in results
        for metric, value in result.metrics.items()
        if isinstance(value, (int, float))
    )
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [*factors, *metrics], extrasaction="ignore")
        writer.writeheader()
        for result in results:
            texts = {name: text_cell(value) for name, value in result.factors.items()}
            writer.writerow({**texts, **result.metrics})


def text_cell(value: Any) -> Any:
    """Returns a cell that no spreadsheet takes for a formula; `read_text_cell` gives the text back."""
    needs_apostrophe = isinstance(value, str) and value.startswith((*FORMULA_STARTS, "'"))
    return f"'{value}" if needs_apostrophe else value


def read_text_cell(cell: str) -> str:
    """Returns the text that `write_results` wrote into a cell.

    Example:
        >>> read_text_cell("PER"), read_text_cell("'=1+1")
        ('PER', '=1+1')
    """
    return cell.removeprefix("'")


class Column(NamedTuple):
    """A column of a study's table."""

    title: str
    metrics: Sequence[str]


#: By the name of a variant and the title of a column, the value of each run.
Table = Mapping[str, Mapping[str, Sequence[float]]]


def tabulate(results: Sequence[Result], columns: Sequence[Column]) -> Table:
    """Returns the values of each variant's runs, and the minutes of those that were trained.

    Raises:
        ValueError: If a run lacks a column's metric.
    """
    table: Dict[str, Dict[str, List[float]]] = {}
    for result in results:
        *factors, _seed = result.factors.values()
        cells = table.setdefault(", ".join(map(str, factors)), {})
        for column in columns:
            cells.setdefault(column.title, []).append(_cell(result, column.metrics))
        if _DURATION in result.metrics:
            cells.setdefault(MINUTES, []).append(_minutes(str(result.metrics[_DURATION])))
    return table


def format_summary(table: Table) -> str:
    """Returns a Markdown table of what `tabulate` returned, one line per variant.

    It has the mean and the standard deviation over seeds.
    """
    titles = list(dict.fromkeys(title for cells in table.values() for title in cells))
    lines = [f"| | {' | '.join(titles)} | runs |", f"|---|{'---|' * len(titles)}---|"]
    for name, cells in table.items():
        texts = [_mean_and_spread(cells[title]) if title in cells else "–" for title in titles]
        num_runs = max(map(len, cells.values()), default=0)
        lines.append(f"| {name} | {' | '.join(texts)} | {num_runs} |")
    return "\n".join(lines)


def _cell(result: Result, metrics: Sequence[str]) -> float:
    missing = [metric for metric in metrics if metric not in result.metrics]
    if missing:
        raise ValueError(
            f"`columns` names the metric {missing[0]!r}, which the run {dict(result.factors)} lacks; it "
            f"has {', '.join(result.metrics)}"
        )
    return 100 * statistics.mean(result.metrics[metric] for metric in metrics)


def _minutes(duration: str) -> float:
    """Returns the minutes of a duration as AllenNLP writes it: `1:02:03.5` or `1 day, 0:00:00`."""
    days, _, clock = duration.rpartition(" day")
    hours, minutes, seconds = clock.rpartition(" ")[2].split(":")
    return 1440 * float(days or 0) + 60 * float(hours) + float(minutes) + float(seconds) / 60


def _mean_and_spread(values: Sequence[float]) -> str:
    spread = f" ± {statistics.stdev(values):.1f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.1f}{spread}"
