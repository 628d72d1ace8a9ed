"""The head with a chain for each label, against the enumeration of each chain's paths."""

import math

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError

from tagger.modules.heads import TaggingHead
from tagger.spans.entities import Entities
from tagger_texts.tagged_text import Extras
from tests.linear_chain.chains import mask_of
from tests.oracles.all_paths import AllPaths
from tests.spans.tagged import vocabulary_of

TAGS = ["O", "B-PER", "I-LOC", "I-PER", "B-LOC"]
LENGTHS = [4, 1, 3]
MASK = mask_of(LENGTHS)
#: The chains of LOC and PER: `O`, and the tags in the order of the vocabulary.
COLUMNS = [[0, 2, 4], [0, 1, 3]]
B_LOC, I_PER, B_PER = 4, 3, 1


def make(tags=TAGS, tag_encoding="BIO", **settings):
    torch.manual_seed(0)
    params = Params({"type": "label_chains", **settings})
    return TaggingHead.from_params(
        params, vocab=vocabulary_of(tags), tag_encoding=tag_encoding
    ).double()


@pytest.fixture
def emissions():
    return torch.randn(3, 4, 5, dtype=torch.double, generator=torch.Generator().manual_seed(1))


@pytest.fixture
def gold():
    """PER over the first two tokens of row 0, in which LOC is the second; row 1 without entities."""
    gold = torch.zeros(3, 4, 5, dtype=torch.long)
    gold[0, 0, B_PER] = gold[0, 1, I_PER] = gold[0, 1, B_LOC] = 1
    gold[2, 2, [2, 4]] = -1  # LOC is unknown at a token
    gold[~MASK] = -1
    return gold


def paths_of(head, emissions, row):
    """The paths of each chain; all share the emissions of `O`."""
    for (chain, scores), columns in zip(head.chains.with_emissions(emissions), COLUMNS):
        assert torch.equal(scores, emissions[:, :, columns])
        yield AllPaths(chain.chain_scores(scores), row, range(LENGTHS[row]))


def allowed_of(gold, columns):
    """The tags that gold tags of a row allow a chain, (N, K) bool."""
    has, may_have = (gold[:, columns[1:]] == value for value in (1, -1))
    inside = torch.where(has.any(1, keepdim=True), has, may_have)
    return torch.cat([~has.any(1, keepdim=True), inside], 1)


def test_the_loss_and_the_marginals_are_those_of_each_chain_by_enumeration(emissions, gold):
    head = make(constrain_training=True)
    marginals = head.marginals(emissions, MASK)
    for row, loss in enumerate(head.sequence_loss(emissions, gold, MASK)):
        paths = list(paths_of(head, emissions, row))
        own = gold[row, : LENGTHS[row]]
        each = [-p.log_probability(allowed_of(own, c)) for p, c in zip(paths, COLUMNS)]
        torch.testing.assert_close(loss, sum(each))
        for chain, columns in zip(paths, COLUMNS):
            actual = marginals[row, : LENGTHS[row], columns[1:]]
            torch.testing.assert_close(actual, chain.tag_marginals()[:, 1:])
    halved = make(constrain_training=True, average_labels=True).sequence_loss(emissions, gold, MASK)
    torch.testing.assert_close(2 * halved, head.sequence_loss(emissions, gold, MASK))


def test_sets_of_tags_are_as_likely_as_their_paths(emissions, gold):
    gold[0, 2, [1, 3]] = 1  # one of two tags of PER
    gold[2, 0, B_LOC] = -1  # `B-LOC` or `O`
    losses = make().sequence_loss(emissions, gold, MASK)
    for row, loss in enumerate(losses):
        paths = paths_of(unconstrained(), emissions, row)
        own = gold[row, : LENGTHS[row]]
        each = [-p.log_probability(allowed_of(own, c)) for p, c in zip(paths, COLUMNS)]
        torch.testing.assert_close(loss, sum(each))


def unconstrained():
    return make(constrain_decoding=False)


@pytest.mark.parametrize("weighting", [None, "chain", "marginal", "lannoy", "softmax_margin"])
def test_unknown_labels_learn_nothing_and_change_no_other(weighting, emissions, gold):
    by_type = {"softmax_margin": {"missing": {"PER": 1.5}}, "marginal": {"gamma": 2}}
    more = by_type.get(weighting, {"label_weights": {"PER": 2, "LOC": 3}})
    head = make(**({"weighting": {"type": weighting, **more}} if weighting else {}))
    gold[:, :, [2, 4]] = -1
    emissions.requires_grad_()
    loss = head.sequence_loss(emissions, gold, MASK)
    loss.sum().backward()
    loc, per = head.chains
    gradients = [each.grad for each in loc.parameters() if each.grad is not None]
    # Rounding may leave the difference of two equal sums.
    for gradient in (*gradients, emissions.grad[:, :, [2, 4]]):
        torch.testing.assert_close(gradient, torch.zeros_like(gradient), rtol=0, atol=1e-12)
    assert gradients
    assert not emissions.grad[~MASK].any()
    assert per.crf.transitions.grad.any()
    assert emissions.grad[:, :, [0, 1, 3]].any()
    others = emissions.detach().clone()
    others[:, :, [2, 4]] = 7.0
    torch.testing.assert_close(head.sequence_loss(others, gold, MASK), loss)


def test_probabilities_of_entities_leaks_and_candidates_are_those_of_each_chain(emissions):
    head = make()
    extras = Extras(probabilities=True, leak_labels=("PER",), candidates=1e-6)
    output = head.predict(emissions, MASK, extras)
    readable = head.predictions(dict(output), LENGTHS)
    for row, length in enumerate(LENGTHS):
        loc, per = paths_of(head, emissions, row)
        best = [
            [c[k] for k in p.paths[p.path_scores.argmax()]] for p, c in zip((loc, per), COLUMNS)
        ]
        joined = [[TAGS[k] for k in token if k] for token in zip(*best)]
        found = readable[row]
        assert found.tags == ["|".join(each) or "O" for each in joined]
        for entity in found.candidates:
            chain, b, i = (loc, 2, 1) if entity.label == "LOC" else (per, 1, 2)
            first, last = entity.first, entity.last
            allowed = torch.ones(length, 3, dtype=torch.bool)
            allowed[first : last + 1] = False
            allowed[first, b], allowed[first + 1 : last + 1, i] = True, True
            allowed[last + 1 : last + 2, i] = False
            expected = chain.log_probability(allowed).exp().item()
            assert entity.probability == pytest.approx(expected)
        entities = {(each.label, each.first, each.last) for each in found.entities}
        assert entities <= {(each.label, each.first, each.last) for each in found.candidates}
        missed = [each for each in found.candidates if each.label == "PER"]
        missed = [each for each in missed if ("PER", each.first, each.last) not in entities]
        expected = sum(each.probability for each in missed)
        assert found.expected_missed == pytest.approx(expected, abs=1e-5)
        assert {*found.probabilities[0]} == {*TAGS[1:]}
    assert output["candidate_lengths"].shape[:3] == (3, 4, 2)


def test_leaks_of_several_labels_are_independent(emissions):
    head = make()

    def leaks(*labels):
        output = head.predict(emissions, MASK, Extras(leak_labels=labels))
        return [each.leak_probability for each in head.predictions(output, LENGTHS)]

    for both, loc, per in zip(leaks("LOC", "PER"), leaks("LOC"), leaks("PER")):
        assert both == pytest.approx(1 - (1 - loc) * (1 - per))


def test_rows_of_the_joint_chain_have_the_distributions_of_the_chains(emissions, gold):
    head = make(decode_bias={"PER": 0.7}, entity_thresholds={"LOC": 0.2})
    rows, gold_rows, mask = head.joint.as_rows(emissions, gold, MASK)
    of_rows, of_chains = head.joint.predict(rows, mask), head.predict(emissions, MASK)
    assert gold_rows[1].tolist() == [B_PER, I_PER, 0, 0]
    assert gold_rows[0].tolist() == [0, B_LOC, 0, 0]
    assert gold_rows[4, 2] == -1
    for name in ("entity_lengths", "entity_probabilities"):
        actual = of_rows[name].unflatten(0, (3, 2)).transpose(1, 2)
        torch.testing.assert_close(actual, of_chains[name])
    every = Entities(*torch.tensor([[1, 0, 1], [0, 0, 1], [0, 1, 1], [1, 1, 2]]).numpy())
    finder = head.joint.entities.find
    assert finder.labels == head.labels
    found = finder.probabilities(head.joint.chain_scores(rows), every, mask)
    assert bool((found >= 0).all())
    assert found[0] == 0


def test_numbers_by_label_go_to_the_chain_of_the_label(emissions):
    head = make(
        decode_bias={"PER": 0.75},
        entity_thresholds={"LOC": 0.2},
        recalibration={"PER": [2, 1, 0]},
        weighting={"type": "chain", "label_weights": {"PER": 2, "I-LOC": 3}},
        decoding="minimum_risk",
    )
    loc, per = head.chains
    assert loc.decoder.bias.tolist() == [0, 0, 0]
    assert per.decoder.bias.tolist() == [0, 0.75, 0]
    assert (loc.decoder.entity_thresholds, per.decoder.entity_thresholds) == ({"LOC": 0.2}, {})
    assert loc.recalibration is None
    assert per.recalibration is not None
    assert loc.crf.weighting.tag_weights.tolist() == [1, 3, 1]
    assert per.crf.weighting.tag_weights.tolist() == [1, 2, 2]
    assert {loc.decoder.decoding, per.decoder.decoding, head.decoder.decoding} == {"minimum_risk"}


def test_padding_changes_nothing(emissions, gold):
    head = make()
    clean = head.sequence_loss(emissions, gold, MASK), head.predict(emissions, MASK)
    emissions[~MASK], gold[~MASK] = math.nan, 1
    torch.testing.assert_close(head.sequence_loss(emissions, gold, MASK), clean[0])
    torch.testing.assert_close(head.predict(emissions, MASK), clean[1])


def test_metrics_are_by_label_and_leave_out_what_is_unknown(gold):
    head = make()
    predicted = torch.zeros(3, 4, 2, dtype=torch.long)
    predicted[0, 1, 0] = 2  # the right LOC
    predicted[0, :2, 1] = torch.tensor([1, 1])  # two PER in place of one
    predicted[2, 2, 0] = 2  # LOC is unknown there
    head.measure({"predicted_tags": predicted}, gold, MASK)
    metrics = head.get_metrics(reset=True)
    assert metrics["f1-measure-LOC"] == 1
    assert metrics["num-predicted-PER"] == 2
    assert metrics["num-gold-overall"] == 2
    assert metrics["num-predicted-overall"] == 3
    assert head.get_confusions() == {}
    assert head.get_metrics()["num-gold-overall"] == 0


def test_mistakes_are_named():
    with pytest.raises(ConfigurationError, match="`decode_bias` names `PRE`.*did you mean `PER`"):
        make(decode_bias={"PRE": 1})
    with pytest.raises(ConfigurationError, match="names `PRE`, which is no label of this vocab"):
        make(weighting={"type": "chain", "label_weights": {"PRE": 2}})
    with pytest.raises(ConfigurationError, match="`head` is label_chains, which needs tags that"):
        make(["A", "B"], None)
    with pytest.raises(ConfigurationError, match="needs all tags of each label"):
        make([*TAGS, "B-ORG"])
    head = make()
    with pytest.raises(ConfigurationError, match="`leak_labels` names `X`"):
        head.check(Extras(leak_labels=("X",)))
