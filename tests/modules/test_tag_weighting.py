"""Properties of every weighting, then of single ones.

The fuzzer, `tests/linear_chain/test_fuzz.py`, compares them with enumeration. `--problems 3000` tries
twenty times as many problems.
"""

import random
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

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
from tests.linear_chain.fuzzed_functions import random_weights
from tests.modules.losses import learnt_share
from tests.spans.tagged import vocabulary_of

#: The names of all weightings, and `none`.
WEIGHTINGS = ["none", *sorted(TagWeighting.list_available())]


def close(actual, expected, tolerance=1e-9):
    torch.testing.assert_close(actual, expected, rtol=tolerance, atol=tolerance)


class WeightedProblem(NamedTuple):
    """A batch and its CRF, all in float64 and mostly with holes in the mask."""

    crf: ConditionalRandomField
    emissions: torch.Tensor
    tags: torch.Tensor
    mask: torch.Tensor

    def loss(self, emissions=None):
        """The log-likelihood of the batch, a scalar. `emissions` replace those of the batch."""
        return self.crf(self.emissions if emissions is None else emissions, self.tags, self.mask)

    def outcome(self):
        """Returns the loss, its gradients, the marginals and the best paths."""
        emissions = self.emissions.detach().requires_grad_()
        loss = self.loss(emissions)
        inputs = [emissions, self.crf.transitions]
        gradients = torch.autograd.grad(loss, inputs, materialize_grads=True)
        with torch.no_grad():
            marginals = self.crf.marginals(self.emissions, self.mask)
            paths, _ = self.crf.viterbi_decode(self.emissions, self.mask)
        return [loss.detach(), *gradients, marginals, paths]

    def to(self, dtype):
        """Returns the problem in another dtype. Converts the CRF in place."""
        return self._replace(crf=self.crf.to(dtype), emissions=self.emissions.to(dtype))


def weighted_problem(weighting, seed):
    rng, generator = random.Random(f"{weighting} {seed}"), torch.Generator().manual_seed(seed)
    size = batch_size, num_tokens, num_tags = [rng.randint(1, most) for most in (3, 5, 4)]
    strategy = None
    if weighting != "none":
        weights, options = random_weights(rng, weighting, num_tags)
        strategy = TagWeighting.by_name(weighting)(tag_weights=weights, **options)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        crf = ConditionalRandomField(
            num_tags, include_start_end_transitions=rng.random() < 0.7, weighting=strategy
        ).double()
    tags = torch.randint(num_tags, (batch_size, num_tokens), generator=generator)
    kind = rng.choice(["path", "some unknown", "sets"])
    if kind == "some unknown":
        tags[torch.rand(tags.shape, generator=generator) < 0.3] = -1
    if kind == "sets":
        others = torch.rand(size, generator=generator) < 0.4
        tags = others | torch.nn.functional.one_hot(tags, num_tags).bool()
    # Eighths below 4, which every half type can represent.
    eighths = (torch.randn(size, generator=generator, dtype=torch.float64) * 8).round()
    mask = torch.rand(batch_size, num_tokens, generator=generator) < 0.7
    return WeightedProblem(crf, eighths.clamp(-31, 31) / 8, tags, mask)


def check_gradients(problem):
    """First and second gradients agree with finite differences."""
    inputs = problem.emissions.clone().requires_grad_()
    assert torch.autograd.gradcheck(problem.loss, inputs)
    if inputs.numel() <= 12:
        assert torch.autograd.gradgradcheck(problem.loss, inputs)


def check_torch_func(problem):
    """`grad`, `jvp`, `vmap` and per-row gradients agree with ordinary calls."""
    emissions, direction = problem.emissions, torch.ones_like(problem.emissions).cumsum(1)
    inputs = emissions.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(problem.loss(inputs), inputs)
    close(torch.func.grad(problem.loss)(emissions), gradient)
    value, slope = torch.func.jvp(problem.loss, (emissions,), (direction,))
    close(value, problem.loss())
    close(slope, (gradient * direction).sum())
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(emissions, direction)
        close(torch.autograd.forward_ad.unpack_dual(problem.loss(dual)).tangent, slope)
    both = torch.stack([emissions, emissions / 2])
    close(torch.func.vmap(problem.loss)(both), torch.stack([problem.loss(each) for each in both]))

    def loss_of_row(*row):
        return problem.crf(*(each.unsqueeze(0) for each in row))

    by_row = torch.func.vmap(torch.func.grad(loss_of_row))(emissions, problem.tags, problem.mask)
    close(by_row, gradient)


def check_half_types(problem):
    """Half types give the numbers of the same scores in float32."""
    for dtype in (torch.bfloat16, torch.float16):
        half = problem.to(dtype)
        actual = half.outcome()
        expected = half.to(torch.float32).outcome()
        assert [each.dtype for each in actual[:2]] == [torch.float32, dtype]
        for ours, theirs in zip(actual, expected):
            # Gradients have the dtype of the scores.
            close(ours.float(), theirs.float(), 1e-2 if ours.dtype == dtype else 1e-5)


def check_autocast(problem):
    """Autocast changes nothing, because there are no matrix products."""
    problem = problem.to(torch.float32)
    expected = problem.outcome()
    with torch.autocast("cpu", torch.bfloat16):
        for ours, theirs in zip(problem.outcome(), expected):
            assert torch.equal(ours, theirs)


def check_threads(problem):
    """Concurrent callers get the same results as a single one."""
    expected = problem.outcome()
    with ThreadPoolExecutor(4) as pool:
        for outcome in pool.map(lambda _: problem.outcome(), range(8)):
            for ours, theirs in zip(outcome, expected):
                assert torch.equal(ours, theirs)


def check_padding(problem):
    """Neither garbage nor NaN in the padding changes the results or the gradients."""
    crf, emissions, tags, mask = problem
    is_padding = ~mask if tags.dim() == 2 else ~mask.unsqueeze(2)
    for garbage in (1e6, torch.nan):
        dirty = emissions.masked_fill(~mask.unsqueeze(2), garbage)
        again = WeightedProblem(crf, dirty, tags.masked_fill(is_padding, -7), mask)
        for ours, theirs in zip(again.outcome(), problem.outcome()):
            close(ours, theirs)


def path_of(problem):
    return problem.tags if problem.tags.dim() == 2 else problem.tags.int().argmax(2)


def check_unknown_tags(problem):
    """With all tags unknown, there is no gradient."""
    unknown = problem._replace(tags=torch.full_like(path_of(problem), -1))
    loss, gradient, *_ = unknown.outcome()
    close(loss, torch.zeros_like(loss))
    assert gradient.abs().max() < 1e-12


def check_sets(problem):
    """A known tag equals a set of one, and an unknown tag the set of all."""
    path = path_of(problem)
    sets = torch.nn.functional.one_hot(path.clamp(min=0), problem.crf.num_tags).bool()
    sets |= (path == -1).unsqueeze(2)
    close(problem._replace(tags=sets).loss(), problem._replace(tags=path).loss())


def check_float_tags(problem):
    """Float tags are refused with a remedy."""
    with pytest.raises(TypeError, match=r"`gold_tags` must hold integers, .* with `.long\(\)`"):
        problem._replace(tags=path_of(problem).float()).loss()


#: By name, the checks of each problem.
CHECKS = {
    "gradients": check_gradients,
    "torch.func": check_torch_func,
    "half types": check_half_types,
    "autocast": check_autocast,
    "threads": check_threads,
    "padding": check_padding,
    "unknown tags": check_unknown_tags,
    "sets": check_sets,
    "float tags": check_float_tags,
}


# `torch.func.jvp` warns about this.
@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")
@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("check", CHECKS)
def test_every_weighting_passes_every_check(check, weighting, pytestconfig):
    for seed in range(pytestconfig.getoption("problems") // 75):
        CHECKS[check](weighted_problem(weighting, seed))


def test_a_forked_process_computes_the_same(in_forked_process):
    def outcomes():
        return [
            [each.tolist() for each in weighted_problem(weighting, seed).outcome()]
            for weighting in WEIGHTINGS
            for seed in range(3)
        ]

    assert in_forked_process(outcomes) == outcomes()


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_scores_at_the_limits_of_float32_give_no_nan(weighting):
    crf = weighted_problem(weighting, 0).crf.float()
    num_tags = crf.num_tags
    for largest in (1e38, 3e38):
        for place in range(num_tags):
            emissions = torch.ones(num_tags, 3, num_tags)
            emissions[:, :, place] = largest
            emissions[:, 1, (place + 1) % num_tags] = -largest
            emissions.requires_grad_()
            gold_tags = torch.arange(num_tags).unsqueeze(1).expand(-1, 3)
            value = crf.log_likelihood(emissions, gold_tags)
            value.sum().backward()
            assert value.dtype == torch.float32
            assert not value.isnan().any()
            assert not emissions.grad.isnan().any()


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


def test_marginal_accepts_a_gamma_without_weights(chains):
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


def test_softmax_margin_accepts_a_cost_without_weights():
    alone = TagWeighting.by_name("softmax_margin")(cost=COST)
    assert alone.tag_weights.tolist() == [1, 1, 1]
    torch.testing.assert_close(alone.cost, torch.tensor(COST))


def test_softmax_margin_costs_by_kind_of_error(vocab):
    params = Params(
        {"type": "softmax_margin", "missing": {"PER": 2}, "inventing": 0.5, "confusing": 1}
    )
    cost = TagWeighting.from_params(params, vocab=vocab).cost.tolist()
    # O, B-PER, I-PER, B-LOC, I-LOC.
    assert cost[0] == [0, 0.5, 0.5, 0.5, 0.5]
    assert cost[1] == [2, 0, 0, 1, 1]
    assert cost[2] == [2, 0, 0, 1, 1]
    assert cost[3] == [0, 1, 1, 0, 0]


def test_a_set_has_the_mean_weight_of_its_tags(chains):
    sets = torch.tensor([[[True, True, False], [False, False, True], [True, True, True]]])
    expected = torch.tensor([[1.25, 3.0, 5.5 / 3]], dtype=torch.float64)
    mask = torch.ones(1, 3, dtype=torch.bool)
    torch.testing.assert_close(weighting("chain").token_weights(sets, mask), expected)
    path = torch.tensor([[1, 2, -1]])
    expected[0, 0] = 2.0
    torch.testing.assert_close(weighting("chain").token_weights(path, mask), expected)


def share_learnt(name, weights):
    def loss(scores, gold_tags):
        zeros = scores.new_zeros(2, 2)
        chains = ChainScores(scores, zeros, zeros[0], zeros[0])
        return -objective(name, (chains, gold_tags, gold_tags >= 0), weights)

    return learnt_share(loss)


@pytest.mark.parametrize("name", ["chain", "marginal", "softmax_margin"])
def test_a_heavier_tag_becomes_more_probable(name):
    light, unit, heavy = (share_learnt(name, [1.0, c]) for c in (0.25, 1.0, 4.0))
    assert light < unit < heavy
    assert unit == pytest.approx(1 / 3, rel=1e-4)
    if name != "softmax_margin":
        # As if the tag occurred four times as often.
        assert heavy == pytest.approx(12 / 18, rel=1e-4)


def test_lannoy_ignores_constants_added_to_start_or_end_scores(chains):
    scores, *others = chains
    moved = scores._replace(start=scores.start + 3, end=scores.end - 5)
    torch.testing.assert_close(objective("lannoy", (moved, *others)), objective("lannoy", chains))


def test_lannoy_warns_that_unequal_weights_have_no_bound(caplog):
    weighting("lannoy", [2.0, 2.0])
    assert not caplog.records
    weighting("lannoy")
    assert "no upper bound" in caplog.text


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
    # A transition has the weight of the tag moved to.
    factor = torch.tensor(WEIGHTS) if name == "emission_transition" else 1
    torch.testing.assert_close(scaled.transitions, scores.transitions * factor)


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


def test_a_config_can_set_arguments_of_all_base_classes(vocab):
    own = {"transition_weight": "from", "weighted_decoding": True, "label_weights": {"PER": 2.0}}
    params = Params({"type": "emission_transition", **own})
    strategy = TagWeighting.from_params(params, vocab=vocab, label_namespace="labels")
    assert strategy.transition_weight == "from"
    assert strategy.weighted_decoding
    assert strategy.tag_weights.tolist() == [1, 2, 2, 1, 1]
