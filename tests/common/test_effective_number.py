import math

import pytest
import torch

from tagger.common.training_counts import inverse_effective_number


@pytest.mark.parametrize("dtype", [torch.int64, torch.float64])
@pytest.mark.parametrize("beta", [0.0, 0.5, 0.9, 0.9999, 1 - 1e-9])
def test_it_is_one_over_the_sum_of_the_powers_of_beta(dtype, beta):
    counts = [1, 2, 7, 5_000]
    # math.fsum adds without rounding
    expected = [1 / math.fsum(beta**power for power in range(count)) for count in counts]
    actual = inverse_effective_number(torch.tensor(counts, dtype=dtype), beta)
    assert actual.dtype == (torch.float32 if dtype == torch.int64 else torch.float64)
    # beta near 1 has lost half its digits in 1 - beta itself
    tolerance = 1e-6 if dtype == torch.int64 else 1e-7
    assert actual.tolist() == pytest.approx(expected, rel=tolerance)


def test_a_count_of_zero_is_taken_for_one():
    assert inverse_effective_number(torch.tensor([0, 1]), 0.9).tolist() == [1, 1]
