"""Tests of whether settings reach a share, such as a precision, in the distribution of labelled data.

The method is Learn then Test (Angelopoulos et al. 2021, "Learn then test: calibrating predictive
algorithms to achieve risk control"). The null hypothesis for each setting is that it misses the target,
and the hypotheses are tested in an order that is fixed before seeing the data.

A share is `E[num_right] / E[num_total]` over groups of sentences, such as documents; precision, for
example, is the share of right entities among the predicted ones. It is at least a level if and only if
`E[num_right - level * num_total]` is not negative.

Letters: `U` groups, `M` settings in their fixed order, `D` draws of groups.
"""

from typing import Optional, Sequence

import numpy as np
from scipy import special, stats

#: If new groups are few, the uncertainty about a share is divided into this many equally probable
#: parts.
_NUM_PARTS = 50


def p_values(
    num_right: np.ndarray,
    num_total: np.ndarray,
    level: float,
    draws: Optional[np.ndarray] = None,
    for_next: Optional[int] = None,
) -> np.ndarray:
    """Tests for each setting the hypothesis that a share is below `level`; low values refute it.

    If no group has more than one item, this is the exact binomial test. Otherwise the items of a group
    tend to err together, and the result is the larger of two approximate p-values. The first is a
    t-test corrected for skewness (Hall 1992, "On the removal of skewness by transformation"), which
    is too optimistic if there are few errors. The second is the binomial tail for the effective
    number of independent items (Korn & Graubard 1998). Groups without items do not count.

    `num_right` and `num_total` are (M, U): the number of right items and of all items in each group
    under each setting. `draws`, (D, U), says how often each group was drawn; the default is once. With
    `for_next`, the share is that of this many new groups from the same source.

    Returns (M,) without `draws`, else (D, M), from 0 to 1; 1 if fewer than two groups have items.

    Example:
        >>> total = np.full((1, 100), 2)
        >>> p_values(total, total, 0.98).round(4).tolist()
        [0.1326]
    """
    right, total = num_right.astype(float), num_total.astype(float)
    weights = np.ones((1, right.shape[1])) if draws is None else draws.astype(float)
    sums = _Sums(right, total, weights)
    # The number of groups divided by the number of new ones.
    ratio = 0.0 if for_next is None else sums.num_drawn / for_next
    with np.errstate(divide="ignore", invalid="ignore"):
        if total.max(initial=0) <= 1:
            tail = _binomial_p_values(sums, level, ratio, np.ones(()))
        else:
            effect = _design_effect(sums)
            tail = np.maximum(
                _binomial_p_values(sums, level, ratio, effect), _hall_p_values(sums, level, ratio)
            )
    tail = np.where((sums.num_groups < 2) | (sums.right == 0), 1.0, tail)
    return tail[0] if draws is None else tail


class _Sums:
    """Sums over drawn groups, (D, M) each."""

    def __init__(self, right: np.ndarray, total: np.ndarray, weights: np.ndarray) -> None:
        self.right_by_group, self.total_by_group, self._weights = right, total, weights
        self.num_drawn = weights.sum(1, keepdims=True)
        self.num_groups = self.of(total > 0)
        self.right = self.of(right)
        self.total = self.of(total)
        self.num_erring = self.of(right < total)

    def of(self, by_group: np.ndarray) -> np.ndarray:
        """Sums numbers, (M, U), over drawn groups."""
        return self._weights @ by_group.astype(float).T


def _design_effect(sums: _Sums) -> np.ndarray:
    """Returns the number of items that tell as much as one independent item, (D, M).

    This is the variance of the share divided by that of independent items (Korn & Graubard 1998). We
    add two terms, because few errors say little about how they cluster. First, the share of one group
    of mean size with only errors is added, divided by one more than the number of groups with errors.
    Second, the effect is raised by one relative standard error, as if each group with errors were a
    draw.
    """
    share = sums.right / sums.total
    r, t = sums.right_by_group, sums.total_by_group
    squares = sums.of(r**2) - 2 * share * sums.of(r * t) + share**2 * sums.of(t**2)
    squares *= sums.num_groups / (sums.num_groups - 1)
    size, weight = sums.total / sums.num_groups, 1 / (1 + sums.num_erring)
    effect = (squares + weight * size**2) / (sums.total * share * (1 - share) + weight * size)
    margin = np.where(sums.num_erring > 0, np.sqrt(2 / sums.num_erring), 0)
    return np.maximum(1, effect) * (1 + margin)


def _binomial_p_values(
    sums: _Sums, level: float, ratio: np.ndarray | float, effect: np.ndarray
) -> np.ndarray:
    """Returns the binomial tail for items divided by their design effect, which can be fractional."""
    wrong, right = (sums.total - sums.right) / effect, sums.right / effect
    if not np.any(ratio):
        return special.betaincc(wrong + 1, right, 1 - level)
    # Exact for whole numbers: Thatcher 1964, "Relationships between Bayesian and confidence limits for
    # predictions".
    num_new = (wrong + right) / ratio
    breaking = np.maximum(1, (1 - level) * num_new)
    parts = (np.arange(_NUM_PARTS) + 0.5) / _NUM_PARTS
    shares = (special.betaincinv(wrong + 1, right, part) for part in parts)
    least = np.maximum(num_new - breaking + 1, 1e-9)
    return np.mean([special.betainc(breaking, least, share) for share in shares], axis=0)


def _hall_p_values(sums: _Sums, level: float, ratio: np.ndarray | float) -> np.ndarray:
    """Tests whether the mean of `num_right - level * num_total` is at most 0."""
    n = sums.num_groups
    gains = sums.right_by_group - level * sums.total_by_group
    mean, square, cube = (sums.of(gains**power) / n for power in (1, 2, 3))
    deviation = np.sqrt(np.maximum(square - mean**2, 0))
    skewness = (cube - 3 * mean * square + 2 * mean**3) / deviation**3 / np.sqrt(n)
    # The difference between the means of these and of new groups varies `1 + ratio` times as much.
    wider = 1 + ratio
    studentised = mean / deviation * np.sqrt((n - 1) / wider)
    # Hall 1992: the cubic transformation, from the first and third cumulants of the statistic. It is
    # monotone, so larger statistics stay larger. The skewness of new groups has the opposite sign.
    first = -skewness / 2 / np.sqrt(wider)
    third = skewness * ((1 - ratio**2) / wider**1.5 - 3 / np.sqrt(wider))
    slope = -third / 6
    corrected = studentised + slope * studentised**2 + slope**2 * studentised**3 / 3 - first - slope
    constant = np.where(mean > 0, 0.0, 1.0)
    return np.where(deviation < 1e-9, constant, stats.t.sf(corrected, n - 1))


def rejected(
    p_values: np.ndarray,
    starts: Sequence[int],
    error: float,
    least_p_values: Optional[np.ndarray] = None,
) -> np.ndarray:
    """Returns which hypotheses of a fixed sequence are rejected.

    This is the fallback procedure (Wiens 2003). Each start receives an equal part of `error`. A
    rejected hypothesis passes its part on to the next one, and one that is not rejected uses it up.
    The probability of any wrong rejection is at most `error` if the p-values are valid.

    A hypothesis that could not be rejected even if all items were right passes on its part without a
    test (Tarone 1990, "A modified Bonferroni method for discrete data").

    `p_values` are (..., M) in the order of the sequence. `least_p_values`, (..., M), are those if all
    items were right; without them, every hypothesis is tested. A start that occurs twice receives two
    parts. Returns (..., M) bool.

    Example:
        >>> rejected(np.array([0.5, 0.01, 0.02, 0.2, 0.001]), starts=[0, 1], error=0.05).tolist()
        [False, True, True, False, False]
        >>> rejected(np.array([0.5, 0.01]), [0], 0.05, least_p_values=np.array([0.4, 0.0])).tolist()
        [False, True]
    """
    brought = np.bincount(starts, minlength=p_values.shape[-1]) * error / len(starts)
    available = np.zeros(p_values.shape[:-1])
    results = []
    for index, each in enumerate(brought):
        available = available + each
        is_rejected = (p_values[..., index] <= available) & (available > 0)
        goes_on = is_rejected
        if least_p_values is not None:
            goes_on = is_rejected | (least_p_values[..., index] > available)
        available = np.where(goes_on, available, 0.0)
        results.append(is_rejected)
    return np.stack(results, axis=-1)
