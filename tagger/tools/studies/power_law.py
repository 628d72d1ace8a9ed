"""Fits a learning curve, `quality = limit - b * size ** -rate`, and predicts it for other sizes.

Such curves fit the errors of most learners over wide ranges of sizes (Hestness et al. 2017). A few runs
do not tell which curve it is, so predictions average over all that fit, and have an interval.

Letters: `N` runs, `M` sizes to predict, `G` curves of the grid.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

#: The rates considered: learning curves of taggers have rates between a tenth and one.
_RATES = np.linspace(0.05, 1.0, 39)
#: The limits considered, as shares of the way from the best measured quality to the perfect one.
_LIMITS = np.linspace(0.0, 1.0, 41)
#: How many runs the assumed spread counts for, when the runs differ more or less than it.
_PRIOR_RUNS = 3.0
_NUM_DRAWS = 4_000


class Forecast(NamedTuple):
    """What a curve will be at M sizes: the medians and the bounds of 90 % intervals, (M,) each."""

    middle: np.ndarray
    low: np.ndarray
    high: np.ndarray


def predict_quality(
    sizes: ArrayLike,
    qualities: ArrayLike,
    spreads: ArrayLike,
    wanted: ArrayLike,
    seed: int = 0,
) -> Forecast:
    """Predicts the quality of a run at other sizes from those of N runs.

    The curves are those of a grid of rates and limits, each with the best factors `b` (a linear
    regression), weighted by how well it fits. The spread of runs around the curve is what `spreads`
    says, or more if the runs show it. The interval is that of a new run, with its own chance.

    Args:
        sizes: (N,), the sizes of the training data, above 0; two of them at least.
        qualities: (N,), such as F1, from 0 to 1.
        spreads: (N,), the standard deviation of such a run, above 0.
        wanted: (M,), the sizes to predict.
        seed: The seed of the draws.

    Example:
        >>> sizes = [100, 200, 400, 800]
        >>> found = predict_quality(sizes, [0.6, 0.7, 0.77, 0.82], [0.01] * 4, [1600])
        >>> round(float(found.middle[0]), 2), bool(found.low[0] > 0.82)
        (0.85, True)
    """
    n, y, sd = (np.asarray(each, dtype=float) for each in (sizes, qualities, spreads))
    if len(n) < 2 or len(set(n.tolist())) < 2:
        raise ValueError(f"a curve needs runs of two sizes, got {n.tolist()}")
    if min(n) <= 0 or min(sd) <= 0:
        raise ValueError(f"sizes and spreads must be above 0, got {n.tolist()} and {sd.tolist()}")
    best = y.max()
    rates, limits = (each.ravel() for each in np.meshgrid(_RATES, best + (1 - best) * _LIMITS))
    x = n[None] ** -rates[:, None]  # (G, N)
    gaps = limits[:, None] - y[None]
    precision = sd**-2.0
    variance = 1 / (x**2 * precision).sum(1)  # of the factor
    factor = (x * gaps * precision).sum(1) * variance
    misfit = ((gaps - factor[:, None] * x) ** 2 * precision).sum(1)
    freedom = _PRIOR_RUNS + len(n) - 1
    log_weight = -freedom / 2 * np.log(_PRIOR_RUNS + misfit) + np.log(variance) / 2
    # More data never harm, and the factor's scale depends on the rate: a flat prior on the gap at the
    # geometric mean size.
    middle = np.exp(np.log(n).mean())
    log_weight += np.log(middle**-rates)
    log_weight[factor <= 0] = -np.inf
    if not np.isfinite(log_weight).any():  # the quality falls
        log_weight = np.where(limits == limits.min(), 0.0, -np.inf)
        factor = factor.clip(0)
    weight = np.exp(log_weight - log_weight.max())
    rng = np.random.default_rng(seed)
    drawn = rng.choice(len(weight), _NUM_DRAWS, p=weight / weight.sum())
    scale = np.sqrt((_PRIOR_RUNS + misfit[drawn]) / rng.chisquare(freedom, _NUM_DRAWS))
    noise = rng.standard_normal((2, _NUM_DRAWS)) * scale
    factors = (factor[drawn] + noise[0] * np.sqrt(variance[drawn])).clip(0)
    curves = limits[drawn] - factors * np.asarray(wanted, dtype=float)[:, None] ** -rates[drawn]
    low, high = np.quantile((curves + noise[1] * sd[n.argmax()]).clip(0, 1), [0.05, 0.95], axis=1)
    return Forecast(np.median(curves, axis=1), low, high)
