"""Confidence intervals of measures."""

from typing import Callable, Tuple

import numpy as np


def wilson_interval(num_right: int, num_total: int) -> Tuple[float, float]:
    """Returns the 95 % interval of a share, by its score test (Wilson 1927).

    It also suits small numbers, and shares of 0 and 1; without cases, it is from 0 to 1. It assumes
    independent cases that were not used for tuning: otherwise, the true share tends to be lower.

    Example:
        >>> low, high = wilson_interval(5, 5)
        >>> f"{low:.4f} to {high:.4f}"
        '0.5655 to 1.0000'
    """
    if num_total == 0:
        return 0.0, 1.0
    # This import takes half a second, and few callers need it.
    from scipy.stats import binomtest

    low, high = binomtest(num_right, num_total).proportion_ci(method="wilson")
    return float(low), float(high)


def bootstrap_intervals(
    counts: np.ndarray,
    measure: Callable[[np.ndarray], np.ndarray],
    num_resamples: int = 1_000,
    seed: int = 0,
) -> Tuple[np.ndarray, np.ndarray]:
    """Returns 95 % intervals of measures over S documents, as lower and upper bounds, (...).

    By the percentile bootstrap (Efron & Tibshirani 1993, chapter 13): each resample draws as many
    documents as there are, with replacement. Spans of one document are not independent: if only
    sentences are known, or a measure depends on few documents, the intervals are too narrow. They do
    not cover the variation between seeds.

    `counts`, (S, ...), add up; `measure` computes measures, (R, ...), from sums of R resamples, NaN
    where one is undefined. Such resamples are left out; if none remains, the interval is NaN.
    """
    rng = np.random.default_rng(seed)
    shape = counts.shape[1:]
    # Documents with the same counts are drawn together, by how many there are.
    distinct, numbers = np.unique(counts.reshape(len(counts), -1), axis=0, return_counts=True)
    # One draw at a time: all together would take the memory of `num_resamples` data sets.
    sums = [
        rng.multinomial(len(counts), numbers / len(counts)) @ distinct.astype(np.float64)
        for _ in range(num_resamples)
    ]
    return percentile_intervals(measure(np.stack(sums).reshape(num_resamples, *shape)))


def percentile_intervals(values: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
    """Returns the bounds, (...) each, of the middle 95 % of R values, (R, ...), ignoring NaN."""
    is_undefined = np.isnan(values).all(axis=0)
    low, high = np.nanquantile(np.where(is_undefined, 0.0, values), [0.025, 0.975], axis=0)
    return np.where(is_undefined, np.nan, low), np.where(is_undefined, np.nan, high)
