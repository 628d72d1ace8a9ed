"""How a label's weight changes its metrics: pure functions of a weighting study's results.

A *curve* maps each weight, in rising order, to a metric's values: one number per run. It leaves out
undefined values, such as the precision of a run that never predicts the label.
"""

import math
from statistics import mean, stdev
from typing import Dict, Iterable, List, Mapping, Sequence, Tuple

from scipy.stats import spearmanr, t

from tagger.tools.runs.results import Result

Curve = Mapping[float, Sequence[float]]

#: A label counts as learnt if its mean F1 reaches this under some weight.
LEAST_F1 = 0.1

#: Equal means may differ by this much after rounding.
ROUNDING = 1e-9


def curve(results: Iterable[Result], metric: str) -> Curve:
    """Returns a metric's curve.

    Raises:
        ValueError: If a run lacks the metric.
    """
    values: Dict[float, List[float]] = {}
    for result in sorted(results, key=lambda result: result.factors["weight"]):
        value = _value(result, metric)
        if not math.isnan(value):
            values.setdefault(result.factors["weight"], []).append(value)
    return values


def _value(result: Result, metric: str) -> float:
    if metric not in result.metrics:
        raise ValueError(
            f"`results` holds the run {dict(result.factors)} without the metric {metric!r}; it has "
            f"{', '.join(result.metrics)}"
        )
    # An undefined number is 0 in a file of metrics, which has the counts too.
    for measure, count in (("precision", "num-predicted"), ("recall", "num-gold")):
        if f"{measure}-" in metric and result.metrics.get(metric.replace(measure, count, 1)) == 0:
            return math.nan
    return result.metrics[metric]


def is_learnt(f1: Curve) -> bool:
    """Returns whether a label was learnt: below that, its metrics are those of a few lucky guesses.

    Example:
        >>> is_learnt({1: [0.02, 0.0], 2: [0.3, 0.1]}), is_learnt({1: [0.02, 0.0], 2: [0.1, 0.05]})
        (True, False)
    """
    return max(mean(values) for values in f1.values()) >= LEAST_F1


def correlations_by_seed(results: Sequence[Result], metric: str) -> List[float]:
    """Returns the rank correlation of weight and metric of each seed for which it is defined."""
    seeds = dict.fromkeys(result.factors["seed"] for result in results)
    correlations = (
        rank_correlation(curve((r for r in results if r.factors["seed"] == seed), metric))
        for seed in seeds
    )
    return [value for value in correlations if not math.isnan(value)]


def changes_by_seed(results: Sequence[Result], metric: str, weight: float) -> List[float]:
    """Returns what a weight changes against weight 1, for each seed that has runs of both."""
    values = {
        (result.factors["weight"], result.factors["seed"]): _value(result, metric)
        for result in results
    }
    changes = [
        value - values[1, seed]
        for (of_weight, seed), value in values.items()
        if of_weight == weight and (1, seed) in values
    ]
    return [change for change in changes if not math.isnan(change)]


def mean_interval(values: Sequence[float]) -> Tuple[float, float]:
    """Returns the 95 % confidence interval of a mean, by Student's t distribution.

    Example:
        >>> [round(bound, 2) for bound in mean_interval([0.1, 0.2, 0.3])]
        [-0.05, 0.45]
    """
    center, error = mean(values), stdev(values) / math.sqrt(len(values))
    reach = float(t.ppf(0.975, len(values) - 1)) * error
    return center - reach, center + reach


def rank_correlation(curve: Curve) -> float:
    """Returns Spearman's correlation of weight and metric over all runs.

    It is 1 if a larger weight means a higher metric in every pair of runs, and -1 if it always means a
    lower one. It is nan where it is undefined: if all weights, or all values, are equal.

    Example:
        >>> round(rank_correlation({0.5: [0.7, 0.8], 1: [0.6, 0.6], 2: [0.1]}), 3)
        -0.973
    """
    weights = [weight for weight in curve for _ in curve[weight]]
    values = [value for weight in curve for value in curve[weight]]
    if len(set(weights)) < 2 or len(set(values)) < 2:
        return math.nan
    return float(spearmanr(weights, values)[0])


def best_weight(wanted: Curve, guarded: Curve, max_loss: float) -> float:
    """Returns the weight with the highest mean of one metric that costs little of another.

    Args:
        wanted: The curve of the metric to raise.
        guarded: The curve of the metric whose mean may fall by at most `max_loss` against weight 1.
        max_loss: The largest loss, from 0 to 1; 0.01 is one point.

    Returns:
        The weight. Of equally good weights, the one nearest to 1 wins. Weight 1 is always a candidate,
        and wins if `wanted` is undefined under all candidates.

    Raises:
        ValueError: If there is no run with weight 1.

    Example:
        >>> recall, macro_f1 = {1: [0.5], 2: [0.6], 4: [0.9]}, {1: [0.7], 2: [0.695], 4: [0.5]}
        >>> best_weight(recall, macro_f1, max_loss=0.01)
        2
    """
    if 1 not in guarded:
        raise ValueError(
            f"`guarded` must have runs of weight 1, the plain model; got the weights "
            f"{', '.join(f'{weight:g}' for weight in guarded)}; add the plain model's runs"
        )
    floor = mean(guarded[1]) - max_loss - ROUNDING
    return max(
        (weight for weight in wanted if mean(guarded[weight]) >= floor),
        key=lambda weight: (mean(wanted[weight]), -abs(math.log(weight))),
        default=1,
    )
