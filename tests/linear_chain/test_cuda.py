"""What concerns the Triton kernels alone: their limits, a missing Triton, and a GPU."""

import logging
import sys
from types import SimpleNamespace

import pytest
import torch

from tagger.linear_chain import ChainScores, implementations, use_implementation
from tests.linear_chain.cases import (
    CPU,
    FUNCTIONS,
    IMPLEMENTATIONS,
    Case,
    assert_best_paths_equal_reference,
    assert_equals_reference,
    assert_error_at_most_twice_plain_pytorch,
    converted,
    outcome,
)
from tests.linear_chain.chains import random_chains, random_tags
from tests.linear_chain.conftest import in_triton

pytestmark = pytest.mark.usefixtures("uninitialized_memory_holds_nan")

on_a_gpu = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]
CUDA = IMPLEMENTATIONS["cuda"]
LONG_ROWS = (512, 1, 0, 300)


@in_triton
@pytest.mark.parametrize("name", ["log_partition", "step_log_likelihoods", "tag_marginals"])
def test_more_rows_than_programs(name, implementation, monkeypatch):
    monkeypatch.setattr("tagger.linear_chain.cuda.launches._MAX_PROGRAMS", 2)
    assert_equals_reference(name, implementation, Case((3, 1, 0, 2, 3), 4, "some impossible"))


# A rest of one tag; of 16 places for 12 tags; and products that underflow.
@in_triton
@pytest.mark.parametrize(("num_tags", "kind"), [(33, "plain"), (44, "plain"), (36, "wide")])
def test_tags_that_fill_a_tile_and_a_rest(num_tags, kind, implementation):
    case = Case((3, 1), num_tags, kind)
    for name in ("step_log_likelihoods", "step_log_marginals"):
        assert_equals_reference(name, implementation, case)
    scores, _, mask = case.batch(implementation.device)
    # The best path leads through the rest.
    scores.emissions[0, 1, -1] += 1000
    assert_best_paths_equal_reference(implementation, scores, mask)


@in_triton
@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_the_kernels_do_not_take_goes_through_the_reference(name, implementation, monkeypatch):
    for kernel in ("forward_kernel", "adjoint_kernel"):
        monkeypatch.setattr(f"tagger.linear_chain.cuda.launches.{kernel}", None)
    assert_equals_reference(name, implementation, Case((2, 1), 129))
    scores, tags, mask = Case((2, 1), 3).batch(implementation.device)
    empty = scores._replace(emissions=scores.emissions[:, :0])
    assert FUNCTIONS[name](empty, tags[:, :0], mask[:, :0]).sum() == 0


def test_without_triton_the_reference_steps_in_and_says_so_once(monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "tagger.linear_chain.cuda.functions", None)
    monkeypatch.delitem(implementations.IMPLEMENTATIONS, "cuda", raising=False)
    monkeypatch.setattr(implementations, "_missing", set())
    on_gpu = ChainScores(
        SimpleNamespace(device=torch.device("cuda"), numel=lambda: 1), None, None, None
    )
    with caplog.at_level(logging.INFO, "tagger.linear_chain.implementations"):
        for _ in range(2):
            chosen = implementations.implementation_for(on_gpu)
            assert chosen is implementations.IMPLEMENTATIONS["reference"]
    assert len([record for record in caplog.records if "Triton is missing" in record.message]) == 1
    with pytest.raises(ValueError, match="got `cuda`"), use_implementation("cuda"):
        pass


class TestOnAGPU:
    pytestmark = on_a_gpu

    @pytest.mark.parametrize("num_tags", [1, 7, 33, 100])
    def test_float32_error_is_at_most_twice_plain_pytorch(self, num_tags):
        for name in FUNCTIONS:
            batch = Case(LONG_ROWS, num_tags, dtype=torch.float32).batch(CPU)
            assert_error_at_most_twice_plain_pytorch(name, CUDA, batch)

    @pytest.mark.parametrize("num_tags", [1, 7, 33, 100])
    def test_float64_equals_the_reference(self, num_tags):
        case = Case(LONG_ROWS, num_tags, "some impossible")
        for name in FUNCTIONS:
            assert_equals_reference(name, CUDA, case)
        scores, _, mask = case.batch(CUDA.device)
        assert_best_paths_equal_reference(CUDA, scores, mask)

    @pytest.mark.parametrize("scale", [1.0, 100.0])
    def test_ten_thousand_tokens_agree_with_float64(self, scale):
        scores = random_chains(1, 10_000, 9, scale=scale, dtype=torch.float32)
        tags = random_tags(1, 10_000, 9).to(CUDA.device)
        scores = ChainScores(*(tensor.to(CUDA.device) for tensor in scores))
        exact = converted(scores, torch.float64)
        single, double = (outcome("log_likelihood", (s, tags, None)) for s in (scores, exact))
        for actual, expected in zip(single, double):
            # float32 carries 24 bits, and 10,000 rounding errors partly cancel.
            tolerance = 1e-5 * float(expected.abs().max())
            torch.testing.assert_close(actual, expected, rtol=0, atol=tolerance)

    def test_gradients_are_the_same_every_time(self):
        batch = Case((130,) * 5000, 33, dtype=torch.float32).batch(CUDA.device)
        first = outcome("step_log_likelihoods", batch)
        for again, once in zip(outcome("step_log_likelihoods", batch), first):
            assert torch.equal(again, once)
