"""What a label's weight does to its scores: pure functions on a weighting study's results.

A *curve* is a score by weight: for each weight, in rising order, one number a run.
"""

import math
from statistics import mean
from typing import Dict, Iterable, List, Mapping, Sequence

from scipy.stats import spearmanr

from tagger.studies.results import Result

Curve = Mapping[float, Sequence[float]]

#: Sums of scores that are equal may differ by this much.
ROUNDING = 1e-9


def curve(results: Iterable[Result], metric: str) -> Curve:
    """Returns a metric's curve.

    Args:
        results: Of runs that differ in weight and seed alone.
        metric: Such as `best_validation_token-recall-PER`.

    Raises:
        ValueError: If a run has no such metric.
    """
    values: Dict[float, List[float]] = {}
    for result in sorted(results, key=lambda result: result.factors["weight"]):
        if metric not in result.metrics:
            raise ValueError(
                f"`results` holds the run {dict(result.factors)} without the metric {metric!r}; it has "
                f"{', '.join(result.metrics)}"
            )
        values.setdefault(result.factors["weight"], []).append(result.metrics[metric])
    return values


def rank_correlation(scores: Curve) -> float:
    """Returns Spearman's correlation of weight and score over all runs; nan where it is undefined.

    It is 1 if a larger weight means a higher score in every pair of runs, and -1 if a lower one.

    Example:
        >>> round(rank_correlation({0.5: [0.7, 0.8], 1: [0.6, 0.6], 2: [0.1]}), 3)
        -0.973
    """
    weights, values = zip(*((weight, score) for weight in scores for score in scores[weight]))
    if len(set(weights)) == 1 or len(set(values)) == 1:
        return math.nan
    return float(spearmanr(weights, values)[0])


def best_weight(scores: Curve, guarded: Curve, max_loss: float) -> float:
    """Returns the weight of the highest mean score among those that cost little of another score.

    Args:
        scores: The curve to choose by.
        guarded: The curve that may lose at most `max_loss`, in the mean, against weight 1.
        max_loss: From 0 to 1; 0.01 is one point.

    Returns:
        The weight; of equally good ones that nearest to 1, which is always among the candidates.

    Raises:
        ValueError: If there is no run of weight 1.

    Example:
        >>> recall, macro_f1 = {1: [0.5], 2: [0.6], 4: [0.9]}, {1: [0.7], 2: [0.695], 4: [0.5]}
        >>> best_weight(recall, macro_f1, max_loss=0.01)
        2
    """
    if 1 not in guarded:
        raise ValueError(
            f"`guarded` has no run of weight 1, the plain model, to compare with, but of "
            f"{', '.join(f'{weight:g}' for weight in guarded)}; add the plain model's runs"
        )
    floor = mean(guarded[1]) - max_loss - ROUNDING
    return max(
        (weight for weight in scores if mean(guarded[weight]) >= floor),
        key=lambda weight: (mean(scores[weight]), -abs(math.log(weight))),
    )
