"""Reads, writes and summarises the results of a study's runs."""

import csv
import json
import statistics
from pathlib import Path
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Sequence

from tagger.tools.runs.jobs import METRICS_FILE, Job

#: Spreadsheets take a cell that starts with one of these for a formula, unless quoted by an apostrophe.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


#: The title of the column with minutes of training.
MINUTES = "minutes"
# AllenNLP's metric, as text.
_DURATION = "training_duration"


class Result(NamedTuple):
    """A finished run."""

    # What distinguishes the run from others, by name; the seed is last.
    factors: Mapping[str, Any]
    # The run's metrics under AllenNLP's names, `best_validation_...` and `test_...`.
    metrics: Mapping[str, float]


def read_results(jobs: Sequence[Job], study: Path) -> List[Result]:
    """Returns the results of all finished jobs from the study's folder."""
    return [
        Result(job.factors, json.loads((job.folder(study) / METRICS_FILE).read_text()))
        for job in jobs
        if job.is_finished(study)
    ]


def write_results(results: Sequence[Result], path: Path) -> None:
    """Writes a CSV file with one line per run: its factors, then its metrics."""
    numbers = [
        {name: each for name, each in result.metrics.items() if isinstance(each, (int, float))}
        for result in results
    ]
    names = dict.fromkeys(name for each in numbers for name in each)
    factors = list(results[0].factors) if results else []
    rows = ({**result.factors, **each} for result, each in zip(results, numbers))
    write_table(path, [*factors, *names], rows)


def write_table(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Writes a CSV file that `read_table` can read.

    A text that a spreadsheet would treat as a formula, such as a label `=1+1`, is written with an
    apostrophe in front.
    """
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows({name: _cell_of(each) for name, each in row.items()} for row in rows)


def read_table(path: Path) -> List[Dict[str, str]]:
    """Reads the rows of a CSV file and removes the apostrophes added by `write_table`."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [{name: (cell or "").removeprefix("'") for name, cell in row.items()} for row in rows]


def _cell_of(value: Any) -> Any:
    needs_apostrophe = isinstance(value, str) and value.startswith((*FORMULA_STARTS, "'"))
    return f"'{value}" if needs_apostrophe else value


class Column(NamedTuple):
    """A column of a study's table."""

    title: str
    metrics: Sequence[str]


#: The values of all runs, by name of the variant and title of the column.
Table = Mapping[str, Mapping[str, Sequence[float]]]


def tabulate(results: Sequence[Result], columns: Sequence[Column]) -> Table:
    """Returns the values of each variant's runs, with minutes for those that were trained."""
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
    """Formats the result of `tabulate` as a Markdown table with one line per variant.

    Cells are the mean and standard deviation over seeds.
    """
    shown = {
        name: {
            **{title: _mean_and_spread(values) for title, values in cells.items()},
            "runs": str(max(map(len, cells.values()), default=0)),
        }
        for name, cells in table.items()
    }
    titles = dict.fromkeys(title for cells in table.values() for title in cells)
    return format_rows([*titles, "runs"], shown)


def format_rows(
    titles: Sequence[str], rows: Mapping[str, Mapping[str, str]], corner: str = ""
) -> str:
    """Returns a Markdown table, with a dash for missing cells."""
    lines = [f"| {corner}".rstrip() + f" | {' | '.join(titles)} |", f"|---|{'---|' * len(titles)}"]
    for name, cells in rows.items():
        lines.append(f"| {name} | {' | '.join(cells.get(title, '–') for title in titles)} |")
    return "\n".join(lines)


def _cell(result: Result, metrics: Sequence[str]) -> float:
    numbers = [name for name, value in result.metrics.items() if isinstance(value, (int, float))]
    missing = [metric for metric in metrics if metric not in numbers]
    if missing:
        raise ValueError(
            f"`columns` names the metric {missing[0]!r}, which is no number of the run "
            f"{dict(result.factors)}; it has {', '.join(numbers)}"
        )
    return 100 * statistics.mean(result.metrics[metric] for metric in metrics)


def _minutes(duration: str) -> float:
    """Returns the minutes in a duration written by AllenNLP: `1:02:03.5` or `1 day, 0:00:00`."""
    days, _, clock = duration.rpartition(" day")
    hours, minutes, seconds = clock.rpartition(" ")[2].split(":")
    return 1440 * float(days or 0) + 60 * float(hours) + float(minutes) + float(seconds) / 60


def _mean_and_spread(values: Sequence[float]) -> str:
    spread = f" ± {statistics.stdev(values):.1f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.1f}{spread}"
