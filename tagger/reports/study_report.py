"""The report on a weighting study: what a label's weight does under each strategy."""

import csv
import math
from pathlib import Path
from statistics import mean
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from tagger.metrics import metrics_tables
from tagger.metrics.metrics_table import BEST_PREFIX
from tagger.reports.figures import draw_weight_panels
from tagger.reports.page import write_page
from tagger.reports.weight_effects import Curve, best_weight, curve, rank_correlation
from tagger.studies.results import Result

#: The prefix of metrics' names, by what the metrics count.
LEVELS = {"tokens": "token-", "spans": ""}
TEST_PREFIX = "test_"
#: The factors of a weighting study's runs, with their types.
FACTORS = {"strategy": str, "label": str, "weight": float, "seed": int}

#: Results by label and strategy.
Groups = Mapping[Tuple[str, str], Sequence[Result]]


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
    write_page(
        "study.html",
        path,
        {
            "weights": draw_weight_panels(
                {key: _panel(groups[key], key[0], scale) for key in groups}
            )
        },
        figure_folder,
        num_runs=len(results),
        num_plain=len(plain),
        level=level,
        max_loss=_percent(max_loss),
        has_test=scale.has_test,
        correlations=_correlation_table(groups, scale),
        best={
            measure: _best_table(groups, measure, max_loss, scale)
            for measure in ("recall", "precision")
        },
        plain_tables=metrics_tables(_over_seeds(plain, level)),
    )


def read_weighting_results(path: Path) -> List[Result]:
    """Reads a weighting study's results from a file that `write_results` wrote.

    Args:
        path: The file.

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


class Scale(NamedTuple):
    """Which metrics to show.

    Attributes:
        prefix: The prefix of their names, a value of `LEVELS`.
        has_test: Whether there are metrics on test data.
    """

    prefix: str
    has_test: bool

    def curve(
        self, results: Sequence[Result], measure: str, name: str, of: str = BEST_PREFIX
    ) -> Curve:
        """Returns the curve of a label's, or the `macro`, measure on development or test data."""
        return curve(results, f"{of}{self.prefix}{measure}-{name}")


def _panel(results: Sequence[Result], label: str, scale: Scale) -> Mapping[str, Curve]:
    return {
        "precision": scale.curve(results, "precision", label),
        "recall": scale.curve(results, "recall", label),
        "F1": scale.curve(results, "f1-measure", label),
        "macro F1": scale.curve(results, "f1-measure", "macro"),
    }


def _correlation_table(groups: Groups, scale: Scale) -> List[List[str]]:
    def correlation(results: Sequence[Result], measure: str, label: str) -> str:
        seeds = dict.fromkeys(result.factors["seed"] for result in results)
        of_seeds = (
            rank_correlation(
                scale.curve([r for r in results if r.factors["seed"] == seed], measure, label)
            )
            for seed in seeds
        )
        defined = [value for value in of_seeds if not math.isnan(value)]
        return f"{mean(defined):+.2f}" if defined else "–"

    return [
        ["label", "strategy", "with precision", "with recall"],
        *(
            [label, strategy]
            + [correlation(results, measure, label) for measure in ("precision", "recall")]
            for (label, strategy), results in groups.items()
        ),
    ]


def _best_table(groups: Groups, measure: str, max_loss: float, scale: Scale) -> List[List[str]]:
    """Returns rows with the best weight of each label and strategy, and the metrics it gives."""
    sets = {"development": BEST_PREFIX, **({"test": TEST_PREFIX} if scale.has_test else {})}
    rows = [["label", "strategy", "weight"]]
    for name in sets:
        rows[0] += [f"{name} {measure}", f"{name} macro F1"]
    for (label, strategy), results in groups.items():
        curves = {
            name: (
                scale.curve(results, measure, label, of),
                scale.curve(results, "f1-measure", "macro", of),
            )
            for name, of in sets.items()
        }
        weight = best_weight(*curves["development"], max_loss)
        row = [label, strategy, f"{weight:g}"]
        for curve_of in (each for pair in curves.values() for each in pair):
            change = mean(curve_of[weight]) - mean(curve_of[1])
            row.append(f"{_percent(mean(curve_of[weight]))} ({100 * change:+.1f})")
        rows.append(row)
    return rows


def _over_seeds(runs: Sequence[Mapping[str, Any]], level: str) -> Dict[str, float]:
    """Returns means of the development metrics over runs, but sums of the confusions."""
    metrics: Dict[str, float] = {}
    # A run's metrics lack the confusions that it never made.
    for metric in dict.fromkeys(metric for run in runs for metric in run):
        name = metric[len(BEST_PREFIX) :]
        if metric.startswith(BEST_PREFIX) and name.startswith("token-") == (level == "tokens"):
            values = [run.get(metric, 0) for run in runs]
            metrics[name] = sum(values) if "confusion-" in name else mean(values)
    return metrics


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"
