"""The report on a weighting study: what a label's weight does under each strategy."""

import csv
from pathlib import Path
from statistics import mean
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from tagger.metrics import metrics_tables
from tagger.metrics.metrics_table import AVERAGES, BEST_PREFIX, measured_names
from tagger.tools.reports.error_tables import confusion_tables
from tagger.tools.reports.figures import draw_weight_panels
from tagger.tools.reports.page import write_page
from tagger.tools.reports.study_tables import (
    NOTHING_LEARNT,
    TEST_PREFIX,
    Groups,
    Scale,
    best_table,
    correlation_table,
)
from tagger.tools.reports.weight_effects import LEAST_F1
from tagger.tools.runs.results import Result, read_text_cell

#: The prefix of metrics' names, by what the metrics count.
LEVELS = {"tokens": "token-", "spans": ""}
#: The factors of a weighting study's runs, with their types.
FACTORS: Mapping[str, Callable[[str], Any]] = {
    "strategy": read_text_cell,
    "label": read_text_cell,
    "weight": float,
    "seed": int,
}


def write_study_report(
    results: Sequence[Result],
    path: Path,
    figure_folder: Optional[Path] = None,
    level: str = "tokens",
    max_loss: float = 0.01,
) -> None:
    """Writes the report.

    Args:
        results: Results with the factors `strategy`, `label`, `weight` and `seed`. Each strategy and
            label has results of weight 1, the plain model. Metrics on development data are required,
            metrics on test data are optional.
        path: The page's file.
        figure_folder: If given, the folder that gets the figures as files.
        level: What the metrics count, `"tokens"` or `"spans"`.
        max_loss: How much macro F1, from 0 to 1, a recommended weight may cost.

    Raises:
        ValueError: If there is no result, a result lacks a metric, or no result has weight 1.
    """
    if not results or level not in LEVELS:
        raise ValueError(
            f"`results` must not be empty and `level` must be one of {', '.join(LEVELS)}; got "
            f"{len(results)} results and {level!r}"
        )
    groups = _by_label_and_strategy(results)
    scale = Scale(
        LEVELS[level], has_test=any(f.startswith(TEST_PREFIX) for f in results[0].metrics)
    )
    # All labels and strategies share the plain model's runs.
    plain = [r.metrics for r in next(iter(groups.values())) if r.factors["weight"] == 1]
    metrics, confusions = _over_seeds(plain, level)
    labels = [name for name in measured_names(metrics, LEVELS[level]) if name not in AVERAGES]
    write_page(
        "study.html",
        path,
        {
            "weights": draw_weight_panels(
                {key: scale.panel(groups[key], key[0]) for key in groups},
                {key: NOTHING_LEARNT for key in groups if not scale.is_learnt(groups[key], key[0])},
            )
        },
        figure_folder,
        num_runs=len(results),
        num_plain=len(plain),
        level=level,
        max_loss=_percent(max_loss),
        has_test=scale.has_test,
        least_f1=_percent(LEAST_F1),
        correlations=correlation_table(groups, scale),
        best={
            measure: best_table(groups, measure, max_loss, scale)
            for measure in ("recall", "precision")
        },
        plain_tables=metrics_tables(metrics),
        confusions=confusion_tables(confusions, labels),
    )


def read_weighting_results(path: Path) -> List[Result]:
    """Reads a weighting study's results from a file that `write_results` wrote.

    Raises:
        ValueError: If the file does not fit; the message names the line.
    """
    with path.open(newline="") as file:
        reader = csv.DictReader(file)
        columns = reader.fieldnames or []
        if any(factor not in columns for factor in FACTORS):
            raise ValueError(
                f"{path} must have the columns {', '.join(FACTORS)}, and metrics; got "
                f"{', '.join(columns) or 'none'}"
            )
        try:
            return [
                Result({name: read(row.pop(name)) for name, read in FACTORS.items()}, _metrics(row))
                for row in reader
            ]
        except ValueError as error:
            raise ValueError(
                f"{path}:{reader.line_num}: {error}; weights, seeds and metrics must be numbers"
            ) from None


def _metrics(row: Mapping[str, str]) -> Dict[str, float]:
    # The cell of a missing metric is empty.
    return {
        name: int(value) if value.lstrip("-").isdigit() else float(value)
        for name, value in row.items()
        if value
    }


def _by_label_and_strategy(results: Sequence[Result]) -> Groups:
    """Groups results by label and strategy; labels keep the order of their first result."""
    groups: Dict[Tuple[str, str], List[Result]] = {}
    for label in dict.fromkeys(result.factors["label"] for result in results):
        for result in results:
            if result.factors["label"] == label:
                groups.setdefault((label, result.factors["strategy"]), []).append(result)
    return groups


def _over_seeds(
    runs: Sequence[Mapping[str, Any]], level: str
) -> Tuple[Dict[str, float], Dict[str, int]]:
    """Returns means of the development metrics over runs, and sums of the confusions."""
    metrics: Dict[str, float] = {}
    confusions: Dict[str, int] = {}
    # A run's metrics lack the confusions that it never made.
    for metric in dict.fromkeys(metric for run in runs for metric in run):
        name = metric[len(BEST_PREFIX) :]
        if metric.startswith(BEST_PREFIX) and name.startswith("token-") == (level == "tokens"):
            values = [run.get(metric, 0) for run in runs]
            if "confusion-" in name:
                confusions[name] = int(sum(values))
            else:
                metrics[name] = mean(values)
    return metrics, confusions


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"
