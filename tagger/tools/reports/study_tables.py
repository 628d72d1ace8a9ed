"""The tables of the report on a weighting study, with intervals over seeds."""

from statistics import mean
from typing import Callable, List, Mapping, NamedTuple, Sequence, Tuple

from tagger.metrics.metrics_table import BEST_PREFIX
from tagger.tools.reports.weight_effects import (
    Curve,
    best_weight,
    changes_by_seed,
    correlations_by_seed,
    curve,
    is_learnt,
    mean_interval,
)
from tagger.tools.runs.results import Result

TEST_PREFIX = "test_"
NOTHING_LEARNT = "nothing learnt"

#: Results by label and strategy.
Groups = Mapping[Tuple[str, str], Sequence[Result]]


class Scale(NamedTuple):
    """Which metrics to show."""

    prefix: str
    has_test: bool

    def metric(self, measure: str, name: str, data: str = BEST_PREFIX) -> str:
        """Returns the name of a label's, or the `macro`, measure on development or test data."""
        return f"{data}{self.prefix}{measure}-{name}"

    def panel(self, results: Sequence[Result], label: str) -> Mapping[str, Curve]:
        """Returns the curves of a label's figure."""
        return {
            "precision": curve(results, self.metric("precision", label)),
            "recall": curve(results, self.metric("recall", label)),
            "F1": curve(results, self.metric("f1-measure", label)),
            "macro F1": curve(results, self.metric("f1-measure", "macro")),
        }

    def is_learnt(self, results: Sequence[Result], label: str) -> bool:
        """Returns whether the label was learnt under any weight."""
        return is_learnt(curve(results, self.metric("f1-measure", label)))


def correlation_table(groups: Groups, scale: Scale) -> List[List[str]]:
    """Returns rows with the correlation of each label's weight with its precision and its recall."""
    rows = [["label", "strategy", "with precision", "with recall"]]
    for (label, strategy), results in groups.items():
        cells = [NOTHING_LEARNT] * 2
        if scale.is_learnt(results, label):
            cells = [
                _with_interval(
                    correlations_by_seed(results, scale.metric(measure, label)),
                    lambda value: f"{value:+.2f}",
                    limits=(-1, 1),
                )
                for measure in ("precision", "recall")
            ]
        rows.append([label, strategy, *cells])
    return rows


def best_table(groups: Groups, measure: str, max_loss: float, scale: Scale) -> List[List[str]]:
    """Returns rows with the best weight of each label and strategy, and what it changes."""
    data = {"development": BEST_PREFIX, **({"test": TEST_PREFIX} if scale.has_test else {})}
    rows = [["label", "strategy", "weight"]]
    for name in data:
        rows[0] += [f"{name} {measure}", f"{name} macro F1"]
    for (label, strategy), results in groups.items():
        if not scale.is_learnt(results, label):
            rows.append([label, strategy, NOTHING_LEARNT, *[""] * (len(rows[0]) - 3)])
            continue
        metrics = [
            metric
            for prefix in data.values()
            for metric in (
                scale.metric(measure, label, prefix),
                scale.metric("f1-measure", "macro", prefix),
            )
        ]
        weight = best_weight(curve(results, metrics[0]), curve(results, metrics[1]), max_loss)
        cells = [_value_and_change(results, metric, weight) for metric in metrics]
        rows.append([label, strategy, f"{weight:g}", *cells])
    return rows


def _value_and_change(results: Sequence[Result], metric: str, weight: float) -> str:
    values = curve(results, metric).get(weight)
    if not values:
        return "–"
    value = f"{100 * mean(values):.1f}"
    if weight == 1:
        return value
    changes = changes_by_seed(results, metric, weight)
    return f"{value} ({_with_interval(changes, lambda change: f'{100 * change:+.1f}')})"


def _with_interval(
    values: Sequence[float],
    spell: Callable[[float], str],
    limits: Tuple[float, float] = (-float("inf"), float("inf")),
) -> str:
    """Returns a mean over seeds with its interval, and whether it may be chance."""
    if not values:
        return "–"
    if len(values) == 1:
        return f"{spell(values[0])}, one seed"
    low, high = mean_interval(values)
    low, high = max(low, limits[0]), min(high, limits[1])
    chance = ", unclear" if low <= 0 <= high and low < high else ""
    return f"{spell(mean(values))} [{spell(low)}, {spell(high)}]{chance}"
