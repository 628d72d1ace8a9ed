"""Random weighted CRFs; `--problems 3000` tries twenty times as many."""

import pytest
import torch

from tests.modules.weighted_problems import (
    CHECKS,
    PYTORCHS_OWN_WARNING,
    WEIGHTINGS,
    weighted_problem,
)


@PYTORCHS_OWN_WARNING
@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("check", CHECKS)
def test_it_holds(check, weighting, pytestconfig):
    for seed in range(pytestconfig.getoption("problems") // 75):
        CHECKS[check](weighted_problem(weighting, seed))


def test_a_forked_process_computes_the_same(in_forked_process):
    def outcomes():
        return [
            [each.tolist() for each in weighted_problem(weighting, seed).outcome()]
            for weighting in WEIGHTINGS
            for seed in range(3)
        ]

    assert in_forked_process(outcomes) == outcomes()


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_scores_at_the_end_of_float32_give_no_nan(weighting):
    crf = weighted_problem(weighting, 0).crf.float()
    num_tags = crf.num_tags
    for largest in (1e38, 3e38):
        for place in range(num_tags):
            emissions = torch.ones(num_tags, 3, num_tags)
            emissions[:, :, place] = largest
            emissions[:, 1, (place + 1) % num_tags] = -largest
            emissions.requires_grad_()
            gold_tags = torch.arange(num_tags).unsqueeze(1).expand(-1, 3)
            value = crf.log_likelihood(emissions, gold_tags)
            value.sum().backward()
            assert value.dtype == torch.float32
            assert not value.isnan().any()
            assert not emissions.grad.isnan().any()
