"""What holds of weightings besides that they equal enumeration, which the fuzzer tests.

It is `tests/linear_chain/test_fuzz.py`.
"""

import allennlp.modules as allennlp_modules
import pytest
import torch
from allennlp.common import Params
from allennlp.modules.conditional_random_field import (
    ConditionalRandomFieldWeightEmission,
    ConditionalRandomFieldWeightTrans,
)

from tagger.common.training_counts import LabelCounts
from tagger.linear_chain import ChainScores, log_likelihood
from tagger.modules import ConditionalRandomField, TagWeighting
from tests.linear_chain.chains import mask_of, random_chains, random_tags
from tests.spans.tagged import vocabulary_of

STRATEGIES = sorted(TagWeighting.list_available())
WEIGHTS = [0.5, 2.0, 3.0]
LENGTHS = [4, 1, 3]


def weighting(name, weights=WEIGHTS, **arguments):
    return TagWeighting.by_name(name)(tag_weights=list(weights), **arguments).double()


def objective(name, batch, weights=WEIGHTS, **arguments):
    return weighting(name, weights, **arguments).objective(*batch)


@pytest.fixture
def chains():
    return random_chains(3, 4, 3, requires_grad=True), random_tags(3, 4, 3), mask_of(LENGTHS)


@pytest.fixture
def vocab():
    return vocabulary_of(["O", "B-PER", "I-PER", "B-LOC", "I-LOC"])


@pytest.mark.parametrize("name", sorted({*STRATEGIES} - {"marginal"}))
def test_unit_weights_give_the_plain_log_likelihood(name, chains):
    torch.testing.assert_close(objective(name, chains, [1.0, 1.0, 1.0]), log_likelihood(*chains))


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("garbage", [1e6, torch.nan])
def test_padding_changes_nothing(name, garbage, chains):
    scores, gold_tags, mask = chains
    dirty = scores._replace(emissions=scores.emissions.masked_fill(~mask.unsqueeze(2), garbage))
    dirty_tags = gold_tags.masked_fill(~mask, -7)
    strategy = weighting(name)
    actual = strategy.objective(dirty, dirty_tags, mask)
    torch.testing.assert_close(actual, strategy.objective(scores, gold_tags, mask))
    actual.sum().backward()
    assert all(tensor.grad.isfinite().all() for tensor in scores)


def test_marginal_takes_a_gamma_without_weights(chains):
    alone = TagWeighting.from_params(Params({"type": "marginal", "gamma": 2.0}))
    crf = ConditionalRandomField(3, weighting=alone).double()
    actual = crf.weighting.objective(*chains)
    torch.testing.assert_close(actual, objective("marginal", chains, [1.0, 1.0, 1.0], gamma=2.0))


@pytest.mark.parametrize("gamma", [0.0, 0.5, 2.0])
def test_a_certain_token_has_no_marginal_loss_and_no_nan(gamma):
    scores = ChainScores(torch.tensor([[[0.0, -100.0]]]), *random_chains(1, 1, 2)[1:])
    emissions = scores.emissions.double().requires_grad_()
    value = weighting("marginal", [2.0, 3.0], gamma=gamma).objective(
        scores._replace(emissions=emissions), torch.tensor([[0]]), torch.tensor([[True]])
    )
    value.sum().backward()
    assert value.item() == pytest.approx(0, abs=1e-20)
    assert emissions.grad.abs().max() < 1e-20


COST = [[0.0, 0.3, 1.0], [2.0, 0.0, 0.5], [0.7, 0.1, 0.0]]


def test_softmax_margin_takes_a_cost_without_weights():
    alone = TagWeighting.by_name("softmax_margin")(cost=COST)
    assert alone.tag_weights.tolist() == [1, 1, 1]
    torch.testing.assert_close(alone.cost, torch.tensor(COST))


def test_softmax_margin_costs_by_kind_of_error(vocab):
    params = Params(
        {"type": "softmax_margin", "missing": {"PER": 2}, "inventing": 0.5, "confusing": 1}
    )
    cost = TagWeighting.from_params(params, vocab=vocab).cost.tolist()
    # O, B-PER, I-PER, B-LOC, I-LOC
    assert cost[0] == [0, 0.5, 0.5, 0.5, 0.5]
    assert cost[1] == [2, 0, 0, 1, 1]
    assert cost[2] == [2, 0, 0, 1, 1]
    assert cost[3] == [0, 1, 1, 0, 0]


@pytest.mark.parametrize("name", STRATEGIES)
def test_unknown_tags_everywhere_teach_nothing(name, chains):
    scores, gold_tags, mask = chains
    actual = objective(name, (scores, torch.full_like(gold_tags, -1), mask))
    torch.testing.assert_close(actual, torch.zeros_like(actual))
    assert torch.autograd.grad(actual.sum(), scores.emissions)[0].abs().max() < 1e-12


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_known_tag_is_a_set_of_one_and_an_unknown_tag_the_set_of_all(name, chains):
    scores, gold_tags, mask = chains
    for unknown in ([], [(0, 1), (2, 0)]):
        for place in unknown:
            gold_tags[place] = -1
        sets = torch.nn.functional.one_hot(gold_tags.clamp(min=0), 3).bool()
        sets |= (gold_tags == -1).unsqueeze(2)
        values = objective(name, chains)
        torch.testing.assert_close(values, objective(name, (scores, sets, mask)))
        assert values.requires_grad


def test_a_set_weighs_the_mean_of_its_tags(chains):
    sets = torch.tensor([[[True, True, False], [False, False, True], [True, True, True]]])
    expected = torch.tensor([[1.25, 3.0, 5.5 / 3]], dtype=torch.float64)
    mask = torch.ones(1, 3, dtype=torch.bool)
    torch.testing.assert_close(weighting("chain").token_weights(sets, mask), expected)
    path = torch.tensor([[1, 2, -1]])
    expected[0, 0] = 2.0
    torch.testing.assert_close(weighting("chain").token_weights(path, mask), expected)


def learnt_share(strategy):
    """How probable tag 1 becomes if tokens look alike, and a third of them has it."""
    gold_tags = torch.tensor([[0, 0, 1, 0, 1, 0, 0, 0, 1]])
    emissions = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    zeros = emissions.new_zeros(2, 2)
    optimizer = torch.optim.LBFGS([emissions], max_iter=50)

    def loss():
        optimizer.zero_grad()
        scores = ChainScores(emissions.expand(1, 9, 2), zeros, zeros[0], zeros[0])
        value = -strategy.objective(scores, gold_tags, gold_tags >= 0).sum()
        value.backward()
        return value

    optimizer.step(loss)
    return float(emissions.softmax(0)[1].detach())


@pytest.mark.parametrize("name", ["chain", "marginal", "softmax_margin"])
def test_a_heavier_tag_becomes_more_probable(name):
    light, unit, heavy = (learnt_share(weighting(name, [1.0, c])) for c in (0.25, 1.0, 4.0))
    assert light < unit < heavy
    assert unit == pytest.approx(1 / 3, rel=1e-4)
    if name != "softmax_margin":
        # as if the tag occurred four times as often
        assert heavy == pytest.approx(12 / 18, rel=1e-4)


def test_lannoy_is_blind_to_a_constant_in_the_start_or_end_scores(chains):
    scores, *others = chains
    moved = scores._replace(start=scores.start + 3, end=scores.end - 5)
    torch.testing.assert_close(objective("lannoy", (moved, *others)), objective("lannoy", chains))


def test_lannoy_warns_that_unequal_weights_have_no_bound(caplog):
    weighting("lannoy", [2.0, 2.0])
    assert not caplog.records
    weighting("lannoy")
    assert "no upper bound" in caplog.text


@pytest.mark.parametrize("name", ["emission", "emission_transition"])
def test_scaled_scores_define_a_distribution(name):
    scores, mask = random_chains(1, 3, 3), torch.ones(1, 3, dtype=torch.bool)
    paths = torch.cartesian_prod(*[torch.arange(3)] * 3)
    total = sum(objective(name, (scores, path.unsqueeze(0), mask)).exp() for path in paths)
    assert total.item() == pytest.approx(1)


@pytest.mark.parametrize(
    ("name", "arguments", "allennlp_class"),
    [
        ("emission", {}, ConditionalRandomFieldWeightEmission),
        ("emission_transition", {"transition_weight": "from"}, ConditionalRandomFieldWeightTrans),
    ],
)
def test_sound_strategies_equal_allennlps_weighted_classes(name, arguments, allennlp_class):
    ours = ConditionalRandomField(3, weighting=weighting(name, **arguments)).double()
    theirs = allennlp_class(3, WEIGHTS).double()
    assert isinstance(theirs, allennlp_modules.ConditionalRandomField)
    plain = {key: value for key, value in ours.state_dict().items() if "weighting" not in key}
    theirs.load_state_dict({**plain, "label_weights": ours.weighting.tag_weights})
    batch = random_chains(3, 4, 3).emissions, random_tags(3, 4, 3), mask_of(LENGTHS)
    torch.testing.assert_close(ours(*batch), theirs(*batch))


@pytest.mark.parametrize("name", ["emission", "emission_transition"])
def test_decoding_uses_plain_scores_unless_asked_otherwise(name):
    scores = random_chains(1, 3, 3)
    assert weighting(name).decoding_scores(scores) is scores
    scaled = weighting(name, weighted_decoding=True).decoding_scores(scores)
    torch.testing.assert_close(scaled.emissions, scores.emissions * torch.tensor(WEIGHTS))


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_rule_weights_the_tags_of_every_strategy(name, vocab, caplog):
    params = Params({"type": name, "weight_rule": "balanced"})
    strategy = TagWeighting.from_params(params, vocab=vocab, label_namespace="labels")
    crf = ConditionalRandomField(5, weighting=strategy)
    batch = torch.randn(3, 4, 5), random_tags(3, 4, 5), mask_of(LENGTHS)
    with pytest.raises(RuntimeError, match="the training labels have not been counted"):
        crf(*batch)
    strategy.use_training_counts(LabelCounts({"labels": {"O": 30, "B-LOC": 2, "B-PER": 8}}))
    assert crf(*batch).isfinite()
    assert ("no upper bound" in caplog.text) == (name == "lannoy")


def test_arguments_of_all_levels_can_be_named_in_a_config(vocab):
    own = {"transition_weight": "from", "weighted_decoding": True, "label_weights": {"PER": 2.0}}
    params = Params({"type": "emission_transition", **own})
    strategy = TagWeighting.from_params(params, vocab=vocab, label_namespace="labels")
    assert strategy.transition_weight == "from"
    assert strategy.weighted_decoding
    assert strategy.tag_weights.tolist() == [1, 2, 2, 1, 1]
