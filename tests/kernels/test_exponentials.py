import numpy as np
import pytest

from tagger.kernels.compilation import kernel
from tagger.kernels.exponentials import exp, single_exp


@kernel
def exps(function, values):
    result = np.empty_like(values)
    for index in range(len(values)):
        result[index] = function(values[index])
    return result


@pytest.mark.parametrize(
    ("function", "dtype", "lowest"), [(exp, np.float64, -708), (single_exp, np.float32, -87)]
)
def test_exponentials_are_exact_to_two_units_in_the_last_place(function, dtype, lowest):
    values = np.concatenate([np.linspace(lowest, 0, 100_001), -np.logspace(-12, 0, 1000)])
    values = values.astype(dtype)
    expected = np.exp(values.astype(np.longdouble))
    errors = np.abs(exps(function, values) - expected) / expected
    assert errors.max() <= 2 * np.finfo(dtype).eps


@pytest.mark.parametrize(("function", "dtype"), [(exp, np.float64), (single_exp, np.float32)])
def test_exponentials_of_limits(function, dtype):
    values = np.array([0, -1e4, -np.inf, np.nan], dtype)
    np.testing.assert_array_equal(exps(function, values), np.array([1, 0, 0, np.nan], dtype))
