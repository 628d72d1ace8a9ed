"""Masks with holes. That each row gives what its real tokens give alone, the fuzzer tests."""

import pytest
import torch

from tagger.linear_chain import (
    ChainScores,
    compacted,
    log_likelihood,
    span_log_probabilities,
    viterbi_decode,
)
from tests.linear_chain.chains import mask_of, random_chains, random_tags

pytestmark = pytest.mark.usefixtures("every_implementation")

# Holes in the middle, at the first token, at all tokens but one, at none and at all.
MASK = torch.tensor(
    [
        [1, 0, 1, 1, 0, 1],
        [0, 0, 1, 1, 1, 0],
        [0, 0, 0, 0, 1, 0],
        [1, 1, 1, 1, 1, 1],
        [0, 0, 0, 0, 0, 0],
    ]
).bool()
SIZE = (5, 6, 3)
TAGS = random_tags(*SIZE)


@pytest.fixture
def scores():
    """Chains with NaN at masked tokens."""
    chains = random_chains(*SIZE)
    emissions = chains.emissions.masked_fill(~MASK.unsqueeze(2), torch.nan)
    return ChainScores(*(each.requires_grad_() for each in chains._replace(emissions=emissions)))


def test_errors_name_the_positions_that_the_caller_knows(scores):
    with pytest.raises(ValueError, match="row 1 has 7 at token 3"):
        log_likelihood(
            scores, TAGS.index_put((torch.tensor(1), torch.tensor(3)), torch.tensor(7)), MASK
        )
    one_set = torch.ones(1, 6, 3, dtype=torch.bool)
    for first, last in ((1, 2), (2, 4), (3, 2)):
        with pytest.raises(
            ValueError, match=f"begin and end at real .* row 0, tokens {first} to {last}"
        ):
            span_log_probabilities(scores, torch.tensor([[0, first, last]]), one_set, MASK)


def test_callers_tensors_stay_as_they_were(scores):
    before = [each.detach().clone() for each in (*scores, TAGS, MASK)]
    log_likelihood(scores, TAGS, MASK)
    viterbi_decode(scores, MASK)
    for tensor, copy in zip((*scores, TAGS, MASK), before):
        assert torch.equal(tensor.nan_to_num(9), copy.nan_to_num(9))


def test_compacted_takes_masked_tokens_out(scores):
    emissions, lengths = compacted(scores.emissions, MASK)
    assert lengths.tolist() == [4, 3, 1, 6, 0]
    for row, (mask, length) in enumerate(zip(MASK, lengths)):
        assert torch.equal(emissions[row, :length], scores.emissions[row, mask])
    same, _ = compacted(scores.emissions, mask_of([6, 1, 0, 2, 3]))
    assert same is scores.emissions


def test_emissions_of_another_shape_are_refused():
    with pytest.raises(ValueError, match=r"`emissions` must be \(B, T, K\); got shape \(2, 3\)"):
        compacted(torch.zeros(2, 3), torch.ones(2, 3))
