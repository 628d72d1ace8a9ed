import numpy as np
import pytest

from tagger.tuning.promises import (
    best_level,
    choose,
    last_that_holds,
    p_value,
    units_needed,
)

DRAWS = 1_000


def documents(rng, num_units, share, spread):
    """Items of documents. Each has a share of right ones of its own, so its items err together."""
    num_total = rng.geometric(0.25, num_units)
    shares = rng.beta(share * spread, (1 - share) * spread, num_units)
    return rng.binomial(num_total, shares), num_total


@pytest.mark.parametrize("share", [0.9, 0.97])
@pytest.mark.parametrize("num_units", [30, 200])
@pytest.mark.parametrize("spread", [5, 200])
def test_a_true_hypothesis_is_rejected_as_rarely_as_stated(share, num_units, spread):
    rng = np.random.default_rng(7)
    p_values = [p_value(*documents(rng, num_units, share, spread), share) for _ in range(DRAWS)]
    # Three standard errors of 1,000 draws.
    assert np.mean(np.array(p_values) <= 0.05) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / DRAWS)


def test_few_errors_say_no_more_than_the_binomial_tail():
    total = np.ones(40, int)
    assert p_value(total, total, 0.9) == pytest.approx(0.9**40)
    # Items of one document may stand and fall together.
    assert p_value(3 * total, 3 * total, 0.9) == pytest.approx(0.9**40)
    assert p_value(total[:1], total[:1], 0.9) == 1
    assert p_value(0 * total, 0 * total, 0.9) == 1


def test_items_that_err_together_say_less():
    apart, together = np.full(100, 10), np.full(100, 10)
    apart[:30] = 9
    together[:3] = 0
    total = np.full(100, 10)
    assert p_value(apart, total, 0.95) < 0.01 < p_value(together, total, 0.95)


def test_the_sequence_stops_at_a_failure_and_each_start_has_its_part():
    assert last_that_holds([0.01, 0.04, 0.06, 0.0], [0], 0.05) == 1
    # The first start fails, so the second has half of the error only.
    assert last_that_holds([0.5, 0.02, 0.03], [0, 1], 0.05) == 1
    assert last_that_holds([0.02, 0.04], [0, 1], 0.05) == 1
    assert last_that_holds([0.5, 0.03], [0, 1], 0.05) is None


def test_what_the_data_support_and_how_many_would_do():
    total = np.ones((1, 100), int)
    right = total.copy()
    right[0, :3] = 0
    arguments = right, total, 0.95, [0], 0.05
    assert choose(*arguments) is None
    level = best_level(*arguments)
    assert choose(right, total, level, [0], 0.05) == 0
    assert choose(right, total, level + 0.01, [0], 0.05) is None
    needed = units_needed(*arguments)
    assert needed > 100
    assert choose(*(np.tile(each, needed // 100) for each in (right, total)), 0.95, [0], 0.05) == 0
    assert units_needed(right, total, 0.98, [0], 0.05) is None
    assert best_level(0 * right, total, 0.95, [0], 0.05) is None
