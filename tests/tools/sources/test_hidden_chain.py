"""Tests of `tagger.tools.sources.hidden_chain`."""

import itertools
import math
from typing import NamedTuple

import pytest
import torch

from tagger.spans import check_tags, convert_tags
from tagger.spans.encodings import complete_tags
from tagger.tools.sources.hidden_chain import HiddenChain
from tagger.tools.sources.posterior import best_tags, expectations
from tests.tools.sources.planted import (
    LABELS,
    TAGS,
    flat,
    noisy,
    random_tags,
    true_sentences,
    votes_of,
)

TRUE = true_sentences()


def accuracy(posterior, sentences=TRUE):
    return float((posterior.best == flat(sentences)).double().mean())


class Posterior(NamedTuple):
    tags: torch.Tensor
    best: torch.Tensor


def posterior_of(chains):
    return Posterior(expectations(chains)[0], best_tags(chains))


def fitted(*sources, gold=None, chained=True):
    votes = votes_of(*sources, gold=gold)
    chain = HiddenChain(LABELS, len(sources), chained)
    return chain, votes, posterior_of(chain.fit(votes)[0])


@pytest.mark.parametrize("chained", [True, False])
def test_the_posterior_is_that_of_enumerated_tags(chained):
    sources = [noisy(TRUE, 0.2, 0.1, 0.05, seed) for seed in range(3)]
    sources[0][0] = None
    chain, votes, posterior = fitted(*sources, chained=chained)
    first = 0
    for row, length in enumerate(votes.lengths.tolist()):
        if length > 4 or row > 30:
            first += length
            continue
        log_probabilities = {}
        for path in itertools.product(range(len(TAGS)), repeat=length):
            total, before = 0.0, -1
            for position, tag in enumerate(path):
                total += float(chain.transitions[before, tag])
                before = tag
                for source, tags in enumerate(sources):
                    if tags[row] is not None:
                        given = tags[row]
                        context = (given[position - 1] + 1) // 2 if position and chained else 0
                        given = given[position]
                        total += float(chain.confusions[source, context, tag, given])
            given_here = [tags[row] for tags in sources if tags[row] is not None]
            is_possible = not any(
                tag and not any(own[position] for own in given_here)
                for position, tag in enumerate(path)
            )
            log_probabilities[path] = total if is_possible else -math.inf
        best = max(log_probabilities, key=log_probabilities.get)
        assert posterior.best[first : first + length].tolist() == list(best)
        weights = {path: math.exp(each) for path, each in log_probabilities.items()}
        for position in range(length):
            for tag in range(len(TAGS)):
                of_tag = sum(weight for path, weight in weights.items() if path[position] == tag)
                marginal = float(posterior.tags[first + position, tag])
                assert marginal == pytest.approx(of_tag / sum(weights.values()), abs=1e-9)
        first += length


@pytest.mark.parametrize("encoding", ["BIO", "BIOUL", "BMES", "IOBES"])
def test_another_encoding_gives_the_same_spans_the_same_probabilities(encoding):
    chain, votes, posterior = fitted(noisy(TRUE, 0.3, 0.1, 0.1, 1), noisy(TRUE, 0.3, 0.1, 0.1, 2))
    tags = complete_tags(["B-PER", "B-LOC"], encoding)
    chains = chain.chains(chain.emissions(votes), votes.lengths)
    found = posterior_of(chain.in_encoding(chains, tags, encoding))
    starts_here = [index for index, tag in enumerate(tags) if tag in ("B-PER", "U-PER", "S-PER")]
    of_starts = found.tags[:, starts_here].sum(1)
    assert torch.allclose(of_starts, posterior.tags[:, TAGS.index("B-PER")])
    assert torch.allclose(found.tags[:, tags.index("O")], posterior.tags[:, 0])
    assert torch.allclose(found.tags.sum(1), torch.ones(len(found.tags)).double())
    first = 0
    for length in votes.lengths.tolist():
        own = [tags[tag] for tag in found.best[first : first + length].tolist()]
        bio = [TAGS[tag] for tag in posterior.best[first : first + length].tolist()]
        assert convert_tags(own, encoding, "BIO") == bio
        first += length


def test_planted_sources_are_recovered():
    rates = [(0.05, 0.02, 0.01), (0.3, 0.05, 0.02), (0.1, 0.3, 0.02), (0.5, 0.02, 0.1)]
    sentences = true_sentences(1500)
    sources = [noisy(sentences, *rate, seed) for seed, rate in enumerate(rates)]
    chain, _, posterior = fitted(*sources)
    confusions = chain.confusions[:, 0].exp()
    for source, (missed, confused, invented) in enumerate(rates):
        for begin in (1, 3):
            assert float(confusions[source, begin, 0]) == pytest.approx(missed, abs=0.1)
            assert float(confusions[source, begin, 4 - begin]) == pytest.approx(confused, abs=0.1)
        assert 1 - float(confusions[source, 0, 0]) == pytest.approx(invented, abs=0.05)
    every = votes_of(*sources)
    majority = chain.majority(every).argmax(1)
    assert (
        accuracy(posterior, sentences)
        > float((majority == flat(sentences)).double().mean()) + 0.005
    )
    assert accuracy(posterior, sentences) > 0.98


def test_a_perfect_source_dominates_poor_ones():
    poor = [noisy(TRUE, 0.4, 0.1, 0.05, seed) for seed in range(4)]
    assert accuracy(fitted(*poor)[2]) < 0.93
    assert accuracy(fitted(*poor, TRUE)[2]) > 0.98


def test_gold_tags_are_kept_and_say_who_is_right():
    # Two sources that agree on the wrong label, and one that is right
    wrong = noisy(TRUE, 0.0, 1.0, 0.0)
    some = [tags if row < 60 else None for row, tags in enumerate(TRUE)]
    _, votes, posterior = fitted(wrong, wrong, noisy(TRUE, 0.1, 0.0, 0.01, 3), gold=some)
    known = votes.gold >= 0
    assert torch.equal(posterior.best[known], votes.gold[known])
    assert accuracy(posterior) > 0.98
    _, _, without = fitted(wrong, wrong, noisy(TRUE, 0.1, 0.0, 0.01, 3))
    assert accuracy(without) < 0.8


def test_the_order_of_sources_changes_nothing():
    sources = [noisy(TRUE, 0.1 * seed, 0.1, 0.05, seed) for seed in range(4)]
    _, _, posterior = fitted(*sources)
    _, _, permuted = fitted(*sources[::-1])
    assert torch.allclose(posterior.tags, permuted.tags)
    assert torch.equal(posterior.best, permuted.best)


@pytest.mark.parametrize("chained", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_tags_are_always_legal(chained, seed):
    sources = [random_tags(TRUE, seed + 10 * number) for number in range(3)]
    _, votes, posterior = fitted(*sources, chained=chained)
    first = 0
    for length in votes.lengths.tolist():
        tags = [TAGS[tag] for tag in posterior.best[first : first + length].tolist()]
        check_tags(tags, "BIO")
        first += length


def test_a_source_that_knows_one_label_does_not_vote_against_the_other():
    only_per = [[tag if tag > 2 else 0 for tag in tags] for tags in TRUE]
    only_loc = [[tag if tag < 3 else 0 for tag in tags] for tags in TRUE]
    _, _, posterior = fitted(only_per, only_loc)
    assert accuracy(posterior) == 1


def test_a_rare_label_is_treated_like_the_others():
    # One LOC among hundreds of PER
    sentences = [[3 if tag == 1 else 4 if tag == 2 else tag for tag in tags] for tags in TRUE]
    sentences[0] = [0, 1, 2, 0]
    sources = [noisy(sentences, 0.2, 0.0, 0.02, seed) for seed in range(5)]
    for source in sources[:3]:
        source[0] = [0, 1, 2, 0]
    _, _, posterior = fitted(*sources)
    assert posterior.best[:4].tolist() == [0, 1, 2, 0]


def test_nothing_is_invented_where_all_votes_are_outside():
    few = [[0, 3, 0], [0, 0, 0], [1, 2, 0]]
    silent = [[0] * 3] * 3
    _, _, posterior = fitted(few, silent)
    assert posterior.tags[flat(few) == 0, 1:].max() == 0
    assert posterior.best.tolist() == flat(few).tolist()


def test_a_token_without_votes_keeps_its_neighbours():
    sentences = [[0, 3, 4, 0], *TRUE]
    source = noisy(sentences)
    other = [None, *noisy(TRUE)]
    _, _, posterior = fitted(source, other)
    assert posterior.best[:4].tolist() == [0, 3, 4, 0]


def lists_of(sentences, num_lists=6, num_names=60):
    """Sources that complement each other: each finds the entities with some of the names.

    Two of the lists have some names in common, and the last also takes other words for them.
    """
    generator = torch.Generator().manual_seed(5)
    lists = [[list(tags) for tags in sentences] for _ in range(num_lists)]
    for row, tags in enumerate(sentences):
        name = 0
        for position, tag in enumerate(tags):
            if tag in (1, 3):
                name = int(torch.randint(num_names, (), generator=generator))
            for number, found in enumerate(lists):
                is_common = number < 2 and name % 10 == 0
                if name % num_lists != number and not is_common:
                    found[row][position] = 0
            if tag == 0 and float(torch.rand((), generator=generator)) < 0.01:
                lists[-1][row][position] = 1
    return lists


def test_what_a_single_list_finds_is_kept_where_lists_complement_each_other():
    sentences = true_sentences(1000)
    chain, _, posterior = fitted(*lists_of(sentences))
    assert accuracy(posterior, sentences) > 0.99
    # Each of six lists misses most of what all find
    assert float(chain.believed[:, 1:].min()) > 0.6
    assert not chain.believed[:, 0].any()


def test_gold_tags_contradict_sparse_sources():
    sentences = true_sentences(1000)
    wrong = [[int(tag == 0 and n % 5 == 0) for n, tag in enumerate(tags)] for tags in sentences]
    chain, *_ = fitted(*lists_of(sentences), wrong, gold=sentences)
    assert float(chain.believed[-1, 1]) > 0.3
    # It never labels a LOC
    assert float(chain.confusions[-1, 0, 1, 1].exp()) < 0.05


def test_sources_that_find_most_are_not_sparse():
    chain, *_ = fitted(*(noisy(TRUE, 0.3, 0.1, 0.05, seed) for seed in range(3)))
    assert not chain.believed.any()
