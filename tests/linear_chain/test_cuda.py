"""Tests of the Triton kernels alone: their limits, a missing Triton, and a GPU."""

import logging
import sys
from types import SimpleNamespace

import pytest
import torch

from tagger.linear_chain import ChainScores, implementations, use_implementation
from tests.linear_chain.cases import (
    FUNCTIONS,
    Case,
    assert_best_paths_equal_reference,
    assert_equals_reference,
    outcome,
)
from tests.linear_chain.conftest import MARKS, in_triton

pytestmark = pytest.mark.usefixtures("uninitialized_memory_holds_nan")


@in_triton
@pytest.mark.parametrize("name", ["log_partition", "step_log_likelihoods", "tag_marginals"])
def test_more_rows_than_programs(name, implementation, monkeypatch):
    monkeypatch.setattr("tagger.linear_chain.cuda.launches._MAX_PROGRAMS", 2)
    assert_equals_reference(name, implementation, Case((3, 1, 0, 2, 3), 4, "some impossible"))


# One remaining tag, 12 tags in a tile of 16, and products that underflow.
@in_triton
@pytest.mark.parametrize(("num_tags", "kind"), [(33, "plain"), (44, "plain"), (36, "wide")])
def test_numbers_of_tags_that_do_not_fill_their_tiles(num_tags, kind, implementation):
    case = Case((3, 1), num_tags, kind)
    for name in ("step_log_likelihoods", "step_log_marginals"):
        assert_equals_reference(name, implementation, case)
    scores, _, mask = case.batch(implementation.device)
    # The best path leads through the last, partial tile.
    scores.emissions[0, 1, -1] += 1000
    assert_best_paths_equal_reference(implementation, scores, mask)


@in_triton
@pytest.mark.parametrize("name", FUNCTIONS)
def test_inputs_that_the_kernels_do_not_support_use_the_reference(
    name, implementation, monkeypatch
):
    for kernel in ("forward_kernel", "adjoint_kernel"):
        monkeypatch.setattr(f"tagger.linear_chain.cuda.launches.{kernel}", None)
    assert_equals_reference(name, implementation, Case((2, 1), 129))
    scores, tags, mask = Case((2, 1), 3).batch(implementation.device)
    empty = scores._replace(emissions=scores.emissions[:, :0])
    assert FUNCTIONS[name](empty, tags[:, :0], mask[:, :0]).sum() == 0


def test_without_triton_the_reference_is_used_with_one_warning(monkeypatch, caplog):
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


@pytest.mark.parametrize("implementation", [pytest.param("gpu", marks=MARKS["gpu"])], indirect=True)
def test_gradients_are_the_same_every_time(implementation):
    batch = Case((130,) * 5000, 33, dtype=torch.float32).batch(implementation.device)
    first = outcome("step_log_likelihoods", batch)
    for again, once in zip(outcome("step_log_likelihoods", batch), first):
        assert torch.equal(again, once)
