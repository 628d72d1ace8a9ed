import pytest
from scipy.stats import binomtest

from tagger.metrics.intervals import wilson_interval


@pytest.mark.parametrize("num_total", [1, 5, 33, 4_000])
def test_the_interval_is_scipys(num_total):
    for num_right in {0, 1, num_total // 3, num_total}:
        interval = binomtest(num_right, num_total).proportion_ci(0.95, method="wilson")
        assert wilson_interval(num_right, num_total) == pytest.approx(tuple(interval), abs=1e-12)


def test_without_cases_nothing_is_known():
    assert wilson_interval(0, 0) == (0, 1)
