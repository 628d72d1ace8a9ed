"""The numbers in the report on a training run, as rows to show: pure functions.

Counts are (S, 3, C): true positives, predicted and gold of each document or sentence. `prefix` is the
prefix of metric names, such as `token-`.

Letters: `S` documents if the file marks them, else sentences; `C` labels, `R` resamples.
"""

import math
from functools import partial
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from tagger.metrics.intervals import bootstrap_intervals
from tagger.metrics.label_metrics import MEASURES, macro_average_of_draws, precision_recall_f1
from tagger.tools.tuning.estimates import measures
from tagger_texts.display import label_colours

#: The fewest gold items for which a label gets an interval. Fewer do not even show their own spread.
LEAST_GOLD = 10
#: The averages that models report, with their descriptions.
AVERAGES = {
    "overall": "all labels together",
    "macro": "mean over labels",
    "head": "mean over frequent labels",
    "medium": "mean over medium labels",
    "tail": "mean over rare labels",
    "zero": "labels that are never found",
}


class Measure(NamedTuple):
    """A measure from 0 to 1 with its 95 % interval."""

    value: Optional[float]
    interval: Optional[Tuple[float, float]] = None


class TableRow(NamedTuple):
    """The results for a label or an average over labels."""

    name: str
    precision: Measure
    recall: Measure
    f1: Measure
    num_gold: Optional[int]
    num_predicted: Optional[int]
    colour: int = 0
    threshold: Optional[float] = None
    epochs: Sequence[float] = ()


def headline(counts: np.ndarray, metrics: Mapping[str, float], prefix: str) -> Dict[str, Measure]:
    """Returns F1, precision and recall of all labels together, and the mean F1, with intervals."""
    of_labels = counts.sum(axis=0)
    averages_of = partial(_averages, all_counts=of_labels)
    bounds = np.stack(bootstrap_intervals(counts, averages_of))
    # A head may have no metrics.
    values = averages_of(of_labels[np.newaxis])[0]
    _, predicted, gold = of_labels.sum(axis=1).tolist()
    averages = {
        "F1": ("f1-measure-overall", 2, predicted or gold),
        "precision": ("precision-overall", 0, predicted),
        "recall": ("recall-overall", 1, gold),
        "macro F1": ("f1-measure-macro", 3, predicted or gold),
    }
    found = {
        name: metrics.get(f"{prefix}{metric}", values[i]) if is_defined else math.nan
        for name, (metric, i, is_defined) in averages.items()
    }
    return {name: _measure(found[name], bounds[:, i], gold) for name, (_, i, _) in averages.items()}


def _averages(sums: np.ndarray, all_counts: np.ndarray) -> np.ndarray:
    """Returns precision, recall, F1 and macro F1, (R, 4), from sums, (R, 3, C), and totals, (3, C)."""
    micro = precision_recall_f1(np.moveaxis(sums.sum(axis=2), 1, 0))
    return np.stack([*micro, macro_average_of_draws(sums, all_counts)[2]], axis=1)


def _measure(value: float, interval: np.ndarray, num_gold: int) -> Measure:
    low, high = interval.tolist()
    if math.isnan(value):
        return Measure(None)
    if num_gold < LEAST_GOLD or math.isnan(low) or low == high:
        return Measure(float(value))
    return Measure(float(value), (low, high))


def label_rows(
    labels: Sequence[str],
    counts: np.ndarray,
    thresholds: Mapping[str, float],
    epochs: Mapping[str, Sequence[float]],
) -> List[TableRow]:
    """Returns a row for each label, the most frequent first."""
    total = counts.sum(axis=0)
    # The last values are for all labels together.
    values, bounds = measures(total), np.stack(bootstrap_intervals(counts, measures))
    colours = label_colours(labels)
    rows = []
    for label in labels_by_frequency(labels, counts):
        c = labels.index(label)
        _, predicted, gold = total[:, c].tolist()
        precision, recall, f1 = (_measure(values[i, c], bounds[:, i, c], gold) for i in range(3))
        rows.append(
            TableRow(
                *(label, precision, recall, f1, gold, predicted),
                *(colours[label], thresholds.get(label), epochs.get(label, ())),
            )
        )
    return rows


def labels_by_frequency(labels: Sequence[str], counts: np.ndarray) -> List[str]:
    """Returns labels by falling number of gold items, keeping the order of ties; counts, (S, 3, C)."""
    order = np.argsort(-counts[:, 2].sum(axis=0), kind="stable")
    return [labels[c] for c in order]


def average_rows(
    metrics: Mapping[str, float], headline: Mapping[str, Measure], prefix: str, num_labels: int
) -> List[TableRow]:
    """Returns the averages over labels among the metrics. With a single label they repeat its row.

    The first rows get their intervals from the headline, which uses the metrics with `prefix`.
    """
    if num_labels == 1:
        # Averages that differ from the row of the label, if that row is about spans.
        names, levels = ["overall"], [level for level in ("token-",) if level != prefix]
    else:
        names, levels = [*AVERAGES], ["", "token-"]
    return [
        _average_row(metrics, headline if level == prefix else {}, level, name)
        for level in levels
        for name in names
        if f"{level}precision-{name}" in metrics
    ]


def _average_row(
    metrics: Mapping[str, float], headline: Mapping[str, Measure], level: str, name: str
) -> TableRow:
    counted = "overall" if name == "macro" else name
    predicted, gold = (
        metrics.get(f"{level}{count}-{counted}") for count in ("num-predicted", "num-gold")
    )
    is_undefined = (predicted == 0, gold == 0, predicted == gold == 0)
    precision, recall, f1 = (
        Measure(None if undefined else metrics[f"{level}{measure}-{name}"])
        for measure, undefined in zip(MEASURES, is_undefined)
    )
    f1 = headline.get({"overall": "F1", "macro": "macro F1"}.get(name, name), f1)
    if name == "macro":
        predicted = gold = None
    title = f"tokens, {AVERAGES[name]}" if level else AVERAGES[name]
    gold, predicted = (None if each is None else int(each) for each in (gold, predicted))
    return TableRow(title, precision, recall, f1, gold, predicted)


def weighted_rows(counts: np.ndarray, num_gold: int, num_labels: int) -> List[TableRow]:
    """Returns averages in which sentences count by their weights, with intervals.

    `counts`, (S, 3, C) float, are multiplied by the weights of the sentences; `num_gold` is the number
    of gold items with a weight above 0.
    """
    total = counts.sum(axis=0)

    def averages(sums: np.ndarray) -> np.ndarray:
        # (R, 2, 3), of all labels together and of the mean over labels
        micro = precision_recall_f1(np.moveaxis(sums.sum(axis=2), 1, 0))
        macro = macro_average_of_draws(sums, total)
        return np.moveaxis(np.array([micro, macro]), 2, 0)

    values, bounds = averages(total[np.newaxis])[0], np.stack(bootstrap_intervals(counts, averages))
    rows = []
    for i, name in enumerate(("overall", "macro")[: 1 if num_labels == 1 else 2]):
        precision, recall, f1 = (
            _measure(values[i, j], bounds[:, i, j], num_gold) for j in range(3)
        )
        rows.append(TableRow(f"{AVERAGES[name]}, by weight", precision, recall, f1, None, None))
    return rows


def percent(share: float) -> str:
    """Returns a share in percent, with one decimal.

    Example:
        >>> percent(0.8049)
        '80.5'
    """
    return f"{100 * share:.1f}"


def sparkline(values: Sequence[float]) -> Dict[str, Any]:
    """Returns a small curve of values from 0 to 1: its points in a box of 60 by 18, and a summary.

    Example:
        >>> sparkline([0.5, 1.0])
        {'points': '2,9 58,2', 'end': ('58', '2'), 'gist': '50.0 to 100.0 in 2 epochs'}
    """
    step = 56 / max(len(values) - 1, 1)
    known = [(i, value) for i, value in enumerate(values) if not math.isnan(value)]
    if not known:
        return {}
    places = [(f"{2 + i * step:.4g}", f"{16 - 14 * value:.3g}") for i, value in known]
    return {
        "points": " ".join(f"{x},{y}" for x, y in places),
        "end": places[-1],
        "gist": f"{percent(known[0][1])} to {percent(known[-1][1])} in {len(values)} epochs",
    }
