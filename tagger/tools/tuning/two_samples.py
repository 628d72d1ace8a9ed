"""A permutation test of whether two samples come from one source, and by which features they differ.

Letters: `U` groups, `F` features, `P` permutations.
"""

from typing import NamedTuple

import numpy as np


class Comparison(NamedTuple):
    """What tells a second sample from a first."""

    p_value: float  # Of all features together
    # (F,), how many standard deviations the mean rank of the second sample is above that of both
    # together, where a standard deviation is that of samples from one source.
    statistics: np.ndarray
    p_values: np.ndarray  # (F,), of each feature, corrected for their number


def compare_samples(
    first: np.ndarray, second: np.ndarray, num_permutations: int = 9_999, seed: int = 0
) -> Comparison:
    """Tests whether two samples of groups come from one distribution.

    If they do, and groups are independent, any division of all groups into samples of these sizes is as
    probable as theirs. So a p-value is at most `p` with a probability of at most `p`, however few groups
    there are (Lehmann & Romano 2005, section 15.2). The statistic is the sum of squares of the
    features' standardised rank sums (Wilcoxon 1945). Features are corrected by the largest of them in
    each permutation (Westfall & Young 1993).

    The samples are (U, F) and (U', F). P-values are at least 1 / (P + 1).
    """
    from scipy.stats import rankdata

    ranks = rankdata(np.concatenate([first, second]), axis=0)
    num_groups, num_second = len(ranks), len(second)
    ranks -= ranks.mean(0)
    deviations = ranks.std(0, ddof=1)
    ranks /= np.where(deviations > 0, deviations, 1)
    ranks /= np.sqrt(num_second * len(first) / num_groups)
    observed = ranks[len(first) :].sum(0)
    rng = np.random.default_rng(seed)
    # (P, F)
    samples = (rng.choice(num_groups, num_second, replace=False) for _ in range(num_permutations))
    drawn = np.stack([ranks[each].sum(0) for each in samples])
    largest = np.abs(drawn).max(1)
    return Comparison(
        _p_value((drawn**2).sum(1), (observed**2).sum()),
        observed,
        np.array([_p_value(largest, each) for each in np.abs(observed)]),
    )


def _p_value(drawn: np.ndarray, observed: float) -> float:
    # Sums in another order may differ in the last digits.
    return float((1 + (drawn >= observed - 1e-9).sum()) / (1 + len(drawn)))
