"""Tests of `tagger.tools.sources.posterior`."""

import numpy as np
import pytest
import torch

from tagger.linear_chain import ChainScores, chain_marginals, viterbi_decode
from tagger.tools.sources.posterior import (
    Chains,
    best_tags,
    expectations,
    marginals_of_sentences,
)


def random_chains(seed, num_tags, has_impossible=True):
    """Chains of sentences of 1 to 9 tokens, in which some tags and steps may be impossible."""
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, 10, (12,), generator=generator)
    sizes = (int(lengths.sum()), num_tags), (num_tags + 1, num_tags), (num_tags,)
    emissions, transitions, ends = (
        3 * torch.randn(size, generator=generator, dtype=torch.float64) for size in sizes
    )
    if has_impossible:
        # The first tag stays possible, so every sentence has a path
        for scores in (emissions, transitions):
            is_impossible = torch.rand(scores.shape, generator=generator) < 0.3
            is_impossible[:, 0] = False
            scores[is_impossible] = -torch.inf
    return Chains(emissions, transitions, ends, lengths)


def one_by_one(chains):
    """The marginals and the best tags of each sentence, computed directly."""
    for emissions in chains.emissions.split(chains.lengths.tolist()):
        start = chains.transitions[-1]
        scores = ChainScores(emissions[None], chains.transitions[:-1], start, chains.ends)
        yield chain_marginals(scores), viterbi_decode(scores)[0][0]


@pytest.mark.parametrize("num_tags", [1, 2, 5, 9])
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("batch", [1, 20, 65_536])
def test_batches_give_what_each_sentence_gives(monkeypatch, seed, num_tags, batch):
    monkeypatch.setattr("tagger.tools.sources.posterior._BATCH", batch)
    monkeypatch.setattr("tagger.tools.sources.posterior._MOST_MARGINALS", batch * num_tags**2)
    chains = random_chains(seed, num_tags, seed > 0)
    marginals, best = zip(*one_by_one(chains))
    tags, steps = expectations(chains)
    assert torch.allclose(tags, torch.cat([each.tags[0] for each in marginals]))
    assert torch.allclose(steps[:-1], sum(each.transitions[0] for each in marginals))
    assert torch.allclose(steps[-1], sum(each.start[0] for each in marginals))
    assert torch.equal(best_tags(chains), torch.cat(best))
    of_tags, of_sentences = marginals_of_sentences(chains)
    assert np.allclose(of_tags, tags, atol=1e-3)
    expected = torch.stack([each.transitions[0] for each in marginals])
    assert np.allclose(of_sentences, expected, atol=1e-2)


def test_expectations_leave_the_scores_as_they_are():
    chains = random_chains(1, 5)
    copies = [each.clone() for each in chains]
    expectations(chains)
    assert all(torch.equal(a, b) for a, b in zip(chains, copies))
    assert not any(each.requires_grad for each in chains)
