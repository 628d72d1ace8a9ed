import itertools

import numpy as np
import pytest

from tagger.metrics.intervals import bootstrap_intervals, wilson_interval


def test_without_cases_the_interval_is_zero_to_one():
    assert wilson_interval(0, 0) == (0, 1)


def share(sums):
    """The share of correct cases, NaN without cases."""
    right, total = np.moveaxis(sums, 1, 0)
    return np.divide(right, total, out=np.full(len(sums), np.nan), where=total > 0)


def test_a_bootstrap_interval_matches_the_enumeration_of_all_draws():
    counts = np.array([[0, 1], [1, 1], [2, 3], [3, 3], [1, 4]])
    draws = [counts[list(draw)].sum(0) for draw in itertools.product(range(5), repeat=5)]
    exact = np.quantile(share(np.array(draws)), [0.025, 0.975])
    interval = bootstrap_intervals(counts, share, num_resamples=20_000)
    assert [float(bound) for bound in interval] == pytest.approx(exact.tolist(), abs=0.02)


def test_draws_with_an_undefined_metric_are_left_out():
    counts = np.array([[1, 2], [0, 0], [0, 0]])
    low, high = bootstrap_intervals(counts, share)
    assert (low, high) == (0.5, 0.5)
    assert np.isnan(bootstrap_intervals(np.zeros((3, 2), dtype=int), share)).all()


def test_the_draws_depend_only_on_the_seed():
    counts = np.random.default_rng(0).integers(0, 5, (40, 3, 2)).cumsum(1)
    first, again, other = (
        bootstrap_intervals(counts, lambda sums: sums[:, 0] / sums[:, 2], seed=seed)
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    assert first[0].shape == (2,)
