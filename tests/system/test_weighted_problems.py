"""The mathematics of weighted CRFs beyond the fuzzer: derivatives, types, threads and processes."""

import multiprocessing
import warnings

import pytest

from tests.modules.weighted_problems import (
    CHECKS,
    PYTORCHS_OWN_WARNING,
    WEIGHTINGS,
    outcomes,
    outcomes_in_process,
    weighted_problem,
)

pytestmark = pytest.mark.system


@PYTORCHS_OWN_WARNING
@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("check", CHECKS)
def test_it_holds_of_many(check, weighting):
    for seed in range(40):
        CHECKS[check](weighted_problem(weighting, seed))


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_other_processes_compute_the_same(method):
    seeds = range(40)
    expected = [outcomes(weighting, seeds) for weighting in WEIGHTINGS]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*use of fork", DeprecationWarning)
        assert outcomes_in_process(method, WEIGHTINGS, seeds) == expected
