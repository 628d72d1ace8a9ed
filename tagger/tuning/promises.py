"""Settings whose precision or recall holds, with a stated confidence, where labelled data come from.

The method is Learn then Test (Angelopoulos et al. 2021, "Learn then test: calibrating predictive
algorithms to achieve risk control"): each setting has a null hypothesis, that it misses the target, and
hypotheses are tested in an order that is fixed before the data are seen.

Letters: `U` units (documents or sentences), `M` settings in their fixed order.
"""

import math
from typing import Optional, Sequence

import numpy as np
from scipy import stats

#: The most times that `units_needed` repeats the data.
MOST_REPEATS = 50


def p_value(num_right: np.ndarray, num_total: np.ndarray, level: float) -> float:
    """Tests the hypothesis that a share is below `level`; a small number speaks against it.

    The share is `E[num_right] / E[num_total]` over units, so the test asks whether the mean of
    `num_right - level * num_total` is negative. It returns the larger of two p-values, for items of one
    unit err together: that of a t-test corrected for skewness (Hall 1992, "On the removal of skewness by
    transformation"), which trusts few errors too much, and the binomial tail of as many independent
    items as these are worth (Korn & Graubard 1998). Units without items say nothing and do not count.

    Both are approximate. Tests draw data repeatedly to see how often a true hypothesis is rejected.

    Args:
        num_right: (U,), how many items of each unit are right.
        num_total: (U,), how many items each unit has.
        level: Above 0 and below 1.

    Returns:
        A number from 0 to 1; 1 if fewer than two units have items.

    Example:
        >>> total = np.full(100, 2)
        >>> round(p_value(total, total, 0.98), 4)
        0.1326
    """
    has_items = num_total > 0
    right, total = num_right[has_items].astype(float), num_total[has_items].astype(float)
    num_units = len(total)
    if num_units < 2:
        return 1.0
    return max(_binomial_p_value(right, total, level), _hall_p_value(right - level * total))


def _binomial_p_value(right: np.ndarray, total: np.ndarray, level: float) -> float:
    """Returns the binomial tail of items divided by the design effect (Korn & Graubard 1998).

    The design effect is how many times larger the variance is than that of independent items. Here it
    gets one relative standard error more, as if each unit with an error were a draw, and without any
    error a unit counts as one item. Both are ours: without them, few errors are trusted too much.
    """
    num_units, num_items, num_wrong = len(total), total.sum(), (total - right).sum()
    if num_wrong == 0:
        effect = num_items / num_units
    elif num_wrong == num_items:
        return 1.0
    else:
        share = 1 - num_wrong / num_items
        squares = ((right - share * total) ** 2).sum() * num_units / (num_units - 1)
        num_draws = (right < total).sum()
        effect = max(1.0, squares / (num_items * share * (1 - share)))
        effect *= 1 + math.sqrt(2 / num_draws)
    # The binomial tail for numbers that need not be whole.
    wrong, correct = num_wrong / effect, (num_items - num_wrong) / effect
    return float(stats.beta.sf(1 - level, wrong + 1, correct))


def _hall_p_value(gains: np.ndarray) -> float:
    """Tests whether the mean of (U,) numbers is at most 0."""
    num_units, mean, deviation = len(gains), gains.mean(), gains.std(ddof=1)
    if deviation < 1e-12:
        return 0.0 if mean > 0 else 1.0
    studentised = mean / deviation * math.sqrt(num_units)
    slant = ((gains - mean) ** 3).mean() / gains.std() ** 3 / math.sqrt(num_units)
    # Hall 1992, the cubic transformation; it is monotone, so that no large statistic is lost.
    corrected = (
        studentised + slant * studentised**2 / 3 + slant**2 * studentised**3 / 27 + slant / 6
    )
    return float(stats.t.sf(corrected, num_units - 1))


def last_that_holds(
    p_values: Sequence[float], starts: Sequence[int], error: float
) -> Optional[int]:
    """Returns the last setting of a fixed sequence whose hypothesis is rejected.

    This is the fallback procedure (Wiens 2003): each start brings an equal part of `error`; a rejected
    hypothesis hands what it was tested with to the next one, and one that stands uses it up. The
    probability that any hypothesis is rejected wrongly is at most `error`, if p-values are valid.

    Args:
        p_values: (M,), in the order of the sequence.
        starts: Indices of the settings that bring error.
        error: One minus the confidence.

    Returns:
        An index; None if none is rejected.

    Example:
        >>> last_that_holds([0.5, 0.01, 0.02, 0.2, 0.001], starts=[0, 1], error=0.05)
        2
    """
    available, last = 0.0, None
    for index, each in enumerate(p_values):
        available += error / len(starts) * list(starts).count(index)
        if available and each <= available:
            last = index
        else:
            available = 0.0
    return last


def choose(
    num_right: np.ndarray, num_total: np.ndarray, level: float, starts: Sequence[int], error: float
) -> Optional[int]:
    """Returns the last setting that is shown to keep a level; None if none is.

    Args:
        num_right: (M, U), by setting and unit.
        num_total: (M, U).
        level: The share that is promised.
        starts: As for `last_that_holds`.
        error: One minus the confidence.
    """
    p_values = [p_value(right, total, level) for right, total in zip(num_right, num_total)]
    return last_that_holds(p_values, starts, error)


def best_level(
    num_right: np.ndarray, num_total: np.ndarray, level: float, starts: Sequence[int], error: float
) -> Optional[float]:
    """Returns the highest whole hundredth below `level` that `choose` grants; None if there is none."""
    for hundredths in range(math.ceil(100 * level) - 1, 0, -1):
        if choose(num_right, num_total, hundredths / 100, starts, error) is not None:
            return hundredths / 100
    return None


def units_needed(
    num_right: np.ndarray, num_total: np.ndarray, level: float, starts: Sequence[int], error: float
) -> Optional[int]:
    """Estimates how many units like these would do for a level; None if `MOST_REPEATS` times do not."""
    for repeats in range(2, MOST_REPEATS + 1):
        right, total = (np.tile(each, (1, repeats)) for each in (num_right, num_total))
        if choose(right, total, level, starts, error) is not None:
            return repeats * num_right.shape[1]
    return None
