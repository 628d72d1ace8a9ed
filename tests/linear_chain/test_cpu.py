"""Tests of the CPU kernels alone: long sequences, threads and processes."""

import threading

import pytest
import torch

from tagger.linear_chain import IMPLEMENTATIONS, log_likelihood, log_partition, use_implementation
from tagger.linear_chain.cpu.kernels.posteriors import posterior_rows
from tagger.linear_chain.cpu.kernels.sum_product import step_rows
from tests.linear_chain.cases import CPU, FUNCTIONS, WEIGHTED, Case, converted, outcome

# Enough work for two threads.
LARGE = Case((130, 1, 0, 77) * 8, 33)


@pytest.fixture(autouse=True)
def _implementation():
    with use_implementation("cpu"):
        yield


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


#: Functions that the kernels also differentiate.
OF_KERNELS = sorted(
    {*FUNCTIONS, *WEIGHTED} - {"transition_marginals", "forward_scores", "backward_scores"}
)


@pytest.fixture
def _no_reference(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("the reference was called")

    for name in ("_forward_messages", "_backward_messages"):
        monkeypatch.setattr(IMPLEMENTATIONS["reference"], name, refuse)


# A tag too improbable for probability space, an unusable tag, and a row without a path.
@pytest.mark.parametrize("extreme", [-700.0, -1e4, -torch.inf])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", OF_KERNELS)
def test_only_an_extreme_row_is_computed_in_float64(name, dtype, extreme, request):
    scores, tags, mask = Case((6, 4, 5), 4, dtype=dtype).batch(CPU)
    ordinary = outcome(name, (scores, tags, mask))
    emissions = scores.emissions.clone()
    emissions[1, 2, tags[1, 2] - 1] = extreme
    emissions[1, 3, tags[1, 3]] = extreme
    scores = scores._replace(emissions=emissions)
    with use_implementation("reference"):
        expected = outcome(name, (converted(scores, torch.float64), tags, mask))
    request.getfixturevalue("_no_reference")
    actual = outcome(name, (scores, tags, mask))
    tolerance = 2e-7 if dtype == torch.float32 else 1e-12
    for ours, exact in zip(actual, expected):
        scale = float(exact[exact.isfinite()].abs().max().clamp(min=1))
        torch.testing.assert_close(ours, exact, rtol=0, atol=tolerance * scale)
    others = [0, 2]
    for ours, before in zip(actual[:2], ordinary[:2]):
        assert torch.equal(ours[others], before[others])


def test_kernels_are_compiled_once_for_each_type_of_emissions():
    for dtype in (torch.float32, torch.float64):
        for name in (*FUNCTIONS, *WEIGHTED):
            outcome(name, Case((3, 2), 4, dtype=dtype).batch(CPU))
    assert len(step_rows.signatures) == len(posterior_rows.signatures) == 2


def test_number_of_threads_changes_nothing(two_threads):
    batch = LARGE.batch(CPU)
    parallel = outcome("log_likelihood", batch)
    torch.set_num_threads(1)
    for ours, theirs in zip(parallel, outcome("log_likelihood", batch)):
        torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)


def test_two_threads_may_call_at_once(two_threads):
    batch = LARGE.batch(CPU)
    expected = log_likelihood(*batch)
    differences = []

    def call():
        # New threads have no chosen implementation; CPU tensors lead to the same one.
        differences.extend((log_likelihood(*batch) - expected).abs().max() for _ in range(20))

    threads = [threading.Thread(target=call) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(differences) == 40
    assert max(differences) == 0


def test_a_forked_process_has_its_own_threads(two_threads, in_forked_process):
    scores, _, mask = LARGE.batch(CPU)

    def total():
        return float(log_partition(scores, mask).sum())

    expected = total()
    assert in_forked_process(total) == expected
