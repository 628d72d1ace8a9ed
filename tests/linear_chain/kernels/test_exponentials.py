import numpy as np

from tagger.linear_chain.kernels.compilation import kernel
from tagger.linear_chain.kernels.exponentials import exp


@kernel
def exps(values):
    result = np.empty_like(values)
    for index in range(len(values)):
        result[index] = exp(values[index])
    return result


def test_exponentials_are_accurate_to_two_units_in_the_last_place():
    values = np.concatenate([np.linspace(-708, 0, 100_001), -np.logspace(-12, 0, 1000)])
    expected = np.exp(values.astype(np.longdouble))
    errors = np.abs(exps(values) - expected) / expected
    assert errors.max() <= 2 * np.finfo(float).eps


def test_exponentials_at_the_limits():
    values = np.array([0, -1e4, -np.inf, np.nan])
    np.testing.assert_array_equal(exps(values), np.array([1, 0, 0, np.nan]))
