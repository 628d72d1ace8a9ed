import itertools

import allennlp.modules as allennlp_modules
import pytest
import torch

from tagger.linear_chain import ChainScores, log_likelihood, log_partition, tag_marginals
from tagger.modules import ConditionalRandomField, TagWeighting
from tagger.spans import allowed_transitions
from tests.linear_chain.chains import mask_of, random_chains, random_tags

BIO = allowed_transitions("BIO", {0: "O", 1: "B-X", 2: "I-X", 3: "B-Y", 4: "I-Y"})


def twins(**arguments):
    """Our CRF and AllenNLP's with the same weights."""
    ours = ConditionalRandomField(5, **arguments)
    theirs = allennlp_modules.ConditionalRandomField(5, **arguments)
    theirs.load_state_dict(ours.state_dict())
    return ours, theirs


def batch():
    emissions = random_chains(3, 6, 5, dtype=torch.float32).emissions
    return emissions, random_tags(3, 6, 5), mask_of([6, 1, 4])


def test_lengths_may_take_the_place_of_a_mask():
    crf = ConditionalRandomField(3, weighting=TagWeighting.by_name("chain")(tag_weights=[1, 2, 3]))
    logits, tags = torch.randn(2, 4, 3), torch.randint(3, (2, 4))
    lengths = torch.tensor([2, 4])
    mask = torch.arange(4) < lengths.unsqueeze(1)
    assert torch.equal(crf(logits, tags, lengths), crf(logits, tags, mask))
    assert crf.viterbi_tags(logits, lengths) == crf.viterbi_tags(logits, mask)
    for name in ("log_partition", "marginals"):
        assert torch.equal(getattr(crf, name)(logits, lengths), getattr(crf, name)(logits, mask))
    for wrong, message in (
        (lengths.int(), "2 int64 lengths; got torch.int32 of shape"),
        (lengths + 1, "length outside 0 to 4: 5 for row 1"),
        (torch.ones(3).bool(), "got torch.bool of shape"),
    ):
        with pytest.raises(ValueError, match=message):
            crf(logits, tags, wrong)


@pytest.mark.parametrize("is_masked", [True, False])
@pytest.mark.parametrize("include_start_end_transitions", [True, False])
def test_log_likelihood_and_gradients_equal_allennlps(include_start_end_transitions, is_masked):
    crfs = twins(include_start_end_transitions=include_start_end_transitions)
    emissions, tags, mask = batch()
    gradients = []
    for crf in crfs:
        inputs = emissions.clone().requires_grad_()
        value = crf(inputs, tags, mask if is_masked else None)
        value.backward()
        learnt = {name: p.grad for name, p in crf.named_parameters() if p.requires_grad}
        gradients.append((value.detach(), inputs.grad, learnt))
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("masked", [None, "padding", "holes"])
@pytest.mark.parametrize("constraints", [None, BIO, set(BIO)], ids=["none", "BIO", "a set"])
@pytest.mark.parametrize("include_start_end_transitions", [True, False])
@pytest.mark.parametrize("top_k", [None, 3])
def test_viterbi_tags_equal_allennlps(constraints, include_start_end_transitions, top_k, masked):
    ours, theirs = twins(
        constraints=constraints, include_start_end_transitions=include_start_end_transitions
    )
    emissions, _, mask = batch()
    if masked == "holes":
        mask[0, 2] = mask[2, 0] = False
    given = mask if masked else None
    actual = ours.viterbi_tags(emissions, given, top_k)
    expected = theirs.viterbi_tags(emissions, given, top_k)
    if top_k is None:
        actual, expected = [[best] for best in actual], [[best] for best in expected]
    for row, row_expected, real in zip(actual, expected, mask if masked else [None] * 3):
        # AllenNLP fills the list with forbidden paths, which score -10,000 per step.
        row_expected = [(path, score) for path, score in row_expected if score > -1_000]
        assert [path for path, _ in row] == [path for path, _ in row_expected]
        assert [score for _, score in row] == pytest.approx([score for _, score in row_expected])
        assert len(row[0][0]) == (6 if real is None else real.sum())


def test_the_same_seed_draws_allennlps_transitions():
    drawn = []
    for crf_class in (ConditionalRandomField, allennlp_modules.ConditionalRandomField):
        torch.manual_seed(5)
        drawn.append(crf_class(5, BIO).state_dict())
    assert list(drawn[0]) == list(drawn[1])
    torch.testing.assert_close(*drawn)


def test_constrained_training_puts_all_probability_on_allowed_paths():
    crf = ConditionalRandomField(5, BIO, constrain_training=True).double()
    emissions = random_chains(1, 3, 5).emissions
    total = 0.0
    for path in torch.cartesian_prod(*[torch.arange(5)] * 3):
        steps = [5, *path.tolist(), 6]
        if set(itertools.pairwise(steps)) <= set(BIO):
            total += crf(emissions, path.unsqueeze(0)).exp().item()
    assert total == pytest.approx(1)


def test_constrained_training_refuses_gold_tags_that_are_forbidden():
    crf = ConditionalRandomField(5, BIO, constrain_training=True)
    with pytest.raises(ValueError, match="`constraints` forbid the gold tags of row 1"):
        crf(torch.zeros(2, 2, 5), torch.tensor([[0, 1], [0, 2]]))


def test_a_sequence_without_tokens_has_one_path():
    crf, emissions = ConditionalRandomField(5), torch.zeros(2, 0, 5)
    assert crf.viterbi_tags(emissions, top_k=3) == [[([], 0.0)]] * 2
    assert crf.viterbi_tags(emissions) == [([], 0.0)] * 2
    assert crf.viterbi_tags(torch.zeros(0, 4, 5)) == []


def test_weighting_is_saved_with_the_crf():
    weights = ([0.5, 2.0, 3.0, 1.5, 0.7], [1.0] * 5)
    crf, other = (
        ConditionalRandomField(5, weighting=TagWeighting.by_name("emission")(tag_weights=each))
        for each in weights
    )
    other.load_state_dict(crf.state_dict())
    assert torch.equal(other.weighting.tag_weights, crf.weighting.tag_weights)


def test_its_quantities_equal_those_of_the_chain_with_its_parameters():
    crf = ConditionalRandomField(5)
    emissions, tags, mask = batch()
    each = crf.log_likelihood(emissions, tags, mask)
    scores = ChainScores(emissions, crf.transitions, crf.start_transitions, crf.end_transitions)
    torch.testing.assert_close(each, log_likelihood(scores, tags, mask))
    torch.testing.assert_close(each.sum(), crf(emissions, tags, mask))
    torch.testing.assert_close(crf.log_partition(emissions, mask), log_partition(scores, mask))
    torch.testing.assert_close(crf.marginals(emissions, mask), tag_marginals(scores, mask))


def test_a_table_of_transitions_means_the_same_as_pairs():
    table = torch.zeros(7, 7, dtype=torch.bool)
    table[tuple(torch.tensor(BIO).T)] = True
    by_table, by_pairs = (ConditionalRandomField(5, each) for each in (table, BIO))
    torch.testing.assert_close(by_table._constraint_mask, by_pairs._constraint_mask)
    assert 0 < by_table._constraint_mask.sum() < 49
