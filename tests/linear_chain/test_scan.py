"""Few long chains on a GPU, whose matrices are multiplied in parallel, in plain PyTorch."""

import pytest
import torch

from tagger.linear_chain import log_likelihood, sequence_score, use_implementation, viterbi_decode
from tagger.linear_chain.cuda import scan
from tests.linear_chain.cases import (
    CPU,
    KINDS,
    Case,
    assert_best_paths_equal_reference,
    assert_equals_reference,
    assert_error_at_most_twice_plain_pytorch,
    converted,
)
from tests.linear_chain.chains import random_chains, random_tags
from tests.linear_chain.conftest import in_triton

pytestmark = pytest.mark.usefixtures("only_scans")
# off the powers of two, and at them
LENGTHS = [(1,), (2, 1), (3, 0, 2), (9, 8, 4), (37, 20)]


@pytest.fixture
def only_scans(monkeypatch):
    monkeypatch.setattr(scan, "_FEWEST_TOKENS", 0)
    for kernel in ("launches.forward_kernel", "functions.best_path_kernel"):
        monkeypatch.setattr(f"tagger.linear_chain.cuda.{kernel}", None)


@in_triton
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("name", ["log_partition", "log_likelihood"])
def test_values_and_gradients_equal_the_reference(name, lengths, kind, implementation):
    assert_equals_reference(name, implementation, Case(lengths, 4, kind))


@in_triton
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lengths", LENGTHS)
def test_best_paths_equal_the_reference(lengths, kind, implementation):
    scores, _, mask = Case(lengths, 4, kind).batch(implementation.device)
    assert_best_paths_equal_reference(implementation, scores, mask)


@in_triton
@pytest.mark.parametrize("kind", ["plain", "both"])
@pytest.mark.parametrize("name", ["log_partition", "log_likelihood"])
def test_float32_error_is_at_most_twice_plain_pytorch(name, kind, implementation):
    batch = Case((200, 77), 5, kind, torch.float32).batch(CPU)
    assert_error_at_most_twice_plain_pytorch(name, implementation, batch)


@in_triton
def test_ten_thousand_tokens_agree_with_float64(implementation):
    scores, tags = random_chains(1, 10_000, 9, dtype=torch.float32), random_tags(1, 10_000, 9)
    exact = converted(scores, torch.float64)
    found = log_likelihood(scores, tags)
    path = viterbi_decode(scores)[0]
    with use_implementation("cpu"):
        torch.testing.assert_close(found.double(), log_likelihood(exact, tags), rtol=1e-6, atol=0)
        lost = viterbi_decode(exact)[1] - sequence_score(exact, path)
    assert 0 <= float(lost) < 1e-3


def test_only_few_long_chains_of_few_tags_are_scanned(monkeypatch):
    monkeypatch.undo()
    shapes = {
        (1, 10_000, 9): True,
        (32, 128, 9): False,
        (16, 2000, 5): True,
        (1, 10_000, 33): False,
    }
    for shape, is_scanned in shapes.items():
        assert scan.suits(random_chains(*shape)) == is_scanned
