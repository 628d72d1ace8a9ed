"""Fits a learning curve, `odds = least + b * size ** -rate`, and predicts it for other sizes.

The odds are those of an error, `(1 - quality) / quality`. Errors of most learners fall by such a power
law over wide ranges of sizes (Hestness et al. 2017), and odds do so from the first entities on, when
most are missed. A few runs do not tell which curve it is, so predictions average over all that fit, and
have an interval.

Letters: `N` runs, `M` sizes to predict, `G` curves of the grid.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

#: The rates considered: learning curves of taggers have rates between a tenth and one.
_RATES = np.linspace(0.05, 1.0, 39)
#: The least odds considered, as shares of the least measured ones. With few runs, a curve that ends
#: there fits as well as one that goes on, so the prior, `(1 - share) ** 3`, prefers those that go on.
_SHARES = np.linspace(0.0, 1.0, 41)
_PRIOR_POWER = 3
#: How many runs the assumed spread counts for, when the runs differ more or less than it.
_PRIOR_RUNS = 3.0
#: The odds of a quality below this one are those of this one.
_LEAST_QUALITY = 0.01
_NUM_DRAWS = 4_000


class Forecast(NamedTuple):
    """What a curve will be at M sizes: the medians and the bounds of 90 % intervals, (M,) each."""

    middle: np.ndarray
    low: np.ndarray
    high: np.ndarray


class _Fits(NamedTuple):
    """Curves and how well they fit, (G,) each: the factors `b` with their variances."""

    rates: np.ndarray
    least: np.ndarray
    factors: np.ndarray
    variances: np.ndarray
    misfits: np.ndarray
    log_weights: np.ndarray
    freedom: float


def predict_quality(
    sizes: ArrayLike,
    qualities: ArrayLike,
    spreads: ArrayLike,
    wanted: ArrayLike,
    seed: int = 0,
) -> Forecast:
    """Predicts the quality of a run at other sizes from those of N runs.

    The curves are those of a grid of rates and least odds, each with the best factors `b` (a linear
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
        (0.86, True)
    """
    n, y, sd = (np.asarray(each, dtype=float) for each in (sizes, qualities, spreads))
    if len(n) < 2 or len(set(n.tolist())) < 2:
        raise ValueError(f"a curve needs runs of two sizes, got {n.tolist()}")
    if min(n) <= 0 or min(sd) <= 0:
        raise ValueError(f"sizes and spreads must be above 0, got {n.tolist()} and {sd.tolist()}")
    fits = _fit(n, y.clip(_LEAST_QUALITY, 1), sd)
    weight = np.exp(fits.log_weights - fits.log_weights.max())
    rng = np.random.default_rng(seed)
    drawn = rng.choice(len(weight), _NUM_DRAWS, p=weight / weight.sum())
    scale = np.sqrt((_PRIOR_RUNS + fits.misfits[drawn]) / rng.chisquare(fits.freedom, _NUM_DRAWS))
    noise = rng.standard_normal((2, _NUM_DRAWS)) * scale
    factors = (fits.factors[drawn] + noise[0] * np.sqrt(fits.variances[drawn])).clip(0)
    x = np.asarray(wanted, dtype=float)[:, None] ** -fits.rates[drawn]
    curves = 1 / (1 + fits.least[drawn] + factors * x)
    low, high = np.quantile((curves + noise[1] * sd[n.argmax()]).clip(0, 1), [0.05, 0.95], axis=1)
    return Forecast(np.median(curves, axis=1), low, high)


def _fit(n: np.ndarray, y: np.ndarray, sd: np.ndarray) -> _Fits:
    """Fits the curves of the grid to N runs: sizes, qualities and their spreads, (N,) each."""
    odds = (1 - y) / y
    rates, shares = (each.ravel() for each in np.meshgrid(_RATES, _SHARES))
    least = shares * odds.min()
    x = n[None] ** -rates[:, None]  # (G, N)
    gaps = odds[None] - least[:, None]
    precision = (sd / y**2) ** -2.0  # of the odds
    variances = 1 / (x**2 * precision).sum(1)
    factors = (x * gaps * precision).sum(1) * variances
    misfits = ((gaps - factors[:, None] * x) ** 2 * precision).sum(1)
    freedom = _PRIOR_RUNS + len(n) - 1
    log_weights = -freedom / 2 * np.log(_PRIOR_RUNS + misfits) + np.log(variances) / 2
    # More data never harm, and the factor's scale depends on the rate: a flat prior on the gap at the
    # geometric mean size.
    middle = np.exp(np.log(n).mean())
    log_weights += np.log(middle**-rates)
    log_weights += _PRIOR_POWER * np.log((1 - shares).clip(1e-12))
    log_weights[factors <= 0] = -np.inf
    if not np.isfinite(log_weights).any():  # the quality falls
        log_weights = np.where(shares == 1, 0.0, -np.inf)
        factors = factors.clip(0)
    return _Fits(rates, least, factors, variances, misfits, log_weights, freedom)
