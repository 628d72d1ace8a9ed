"""The cross-entropy of two chains, compared with enumeration in every implementation."""

import pytest
import torch

from tagger.linear_chain import (
    ChainScores,
    chain_cross_entropy,
    chain_marginals,
    log_partition,
    transition_marginals,
)
from tests.linear_chain.chains import mask_of, random_chains
from tests.linear_chain.conftest import on_cpus
from tests.oracles.all_paths import AllPaths

pytestmark = pytest.mark.usefixtures("every_implementation")

#: Rows with holes in the middle and at the ends, with a single token, without tokens, and a full row.
MASK = torch.tensor(
    [[1, 0, 1, 1], [0, 1, 1, 0], [0, 0, 1, 0], [1, 1, 1, 1], [0, 0, 0, 0]], dtype=torch.bool
)
SIZE = (*MASK.shape, 3)


@pytest.fixture
def teacher():
    return random_chains(*SIZE, seed=1)


@pytest.fixture
def student():
    """Random chains with NaN at masked tokens."""
    chains = random_chains(*SIZE, seed=2)
    emissions = chains.emissions.masked_fill(~MASK.unsqueeze(2), torch.nan)
    return ChainScores(*(each.requires_grad_() for each in chains._replace(emissions=emissions)))


def close(actual, expected):
    # Both are float64; only the order of summation differs.
    torch.testing.assert_close(actual, expected, rtol=1e-9, atol=1e-9)


def enumerated(teacher, student):
    """(B,), by all paths."""
    rows = []
    for row, mask in enumerate(MASK):
        tokens = mask.nonzero().squeeze(1).tolist()
        rows.append(AllPaths(teacher, row, tokens).cross_entropy(AllPaths(student, row, tokens)))
    return torch.stack(rows)


@pytest.mark.parametrize("is_kept", [False, True], ids=["scores", "marginals"])
def test_values_and_gradients_match_enumeration(teacher, student, is_kept):
    given = chain_marginals(teacher, MASK) if is_kept else teacher
    actual, expected = chain_cross_entropy(given, student, MASK), enumerated(teacher, student)
    close(actual, expected)
    weights = torch.tensor([0.5, 2.0, 3.0, 0.25, 1.5], dtype=torch.float64)
    for found, target in zip(
        torch.autograd.grad(actual, student, weights),
        torch.autograd.grad(expected, student, weights),
    ):
        close(found, target.nan_to_num())


def test_marginals_are_the_gradient_of_each_rows_log_partition(student):
    marginals = chain_marginals(student, MASK)
    for row, log_z in enumerate(log_partition(student, MASK)):
        gradients = torch.autograd.grad(log_z, student, retain_graph=True)
        close(marginals.tags[row], gradients[0][row])
        for marginal, gradient in zip(marginals[1:], gradients[1:]):
            close(marginal[row], gradient)
    close(marginals.transitions, transition_marginals(student, MASK).sum(1))


def test_paths_possible_only_for_the_teacher_cost_infinity_without_a_gradient(teacher, student):
    blocked = student._replace(transitions=student.transitions.detach().clone())
    blocked.transitions[0, 1] = -torch.inf
    blocked.transitions.requires_grad_()
    values = chain_cross_entropy(teacher, blocked, MASK)
    # Rows with one token or none have no transitions.
    assert values.isinf().tolist() == [True, True, False, True, False]
    for gradient in torch.autograd.grad(values, blocked, torch.ones_like(values)):
        assert gradient.isfinite().all()
    also_blocked = teacher._replace(transitions=blocked.transitions.detach())
    close(chain_cross_entropy(also_blocked, blocked, MASK), enumerated(also_blocked, blocked))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_half_types_are_computed_in_at_least_float32(teacher, student, dtype):
    small, marginals = (type(each)(*(x.to(dtype) for x in each)) for each in (student, teacher))
    values = chain_cross_entropy(marginals, small, MASK)
    assert values.dtype == torch.float32
    torch.testing.assert_close(values.double(), enumerated(marginals, small), rtol=1e-5, atol=1e-5)


@on_cpus
def test_a_small_cross_entropy_of_long_chains_is_accurate():
    scores = random_chains(1, 400, 3, scale=30.0, dtype=torch.float32)
    # These scores vary so much that one path has nearly all of the probability.
    exact = ChainScores(*(each.double() for each in scores))
    expected = chain_cross_entropy(exact, exact)
    actual = chain_cross_entropy(chain_marginals(exact), scores)
    assert log_partition(exact) > 100 * expected
    # A unit in the last place of log Z would be 2e-3.
    torch.testing.assert_close(actual.double(), expected, rtol=1e-6, atol=0)


@pytest.mark.parametrize("mask", [mask_of([4, 2, 1, 3, 0]), torch.tensor([4, 2, 1, 3, 0]), None])
def test_masks_of_every_form_agree_with_single_rows(teacher, student, mask):
    clean = student._replace(emissions=student.emissions.detach().nan_to_num())
    values = chain_cross_entropy(teacher, clean, mask)
    for row, length in enumerate([4, 2, 1, 3, 0] if mask is not None else [4] * 5):
        of_row = (
            c._replace(emissions=c.emissions[row : row + 1, :length]) for c in (teacher, clean)
        )
        close(values[row : row + 1], chain_cross_entropy(*of_row))
