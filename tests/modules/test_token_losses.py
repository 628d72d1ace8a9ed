import math

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError

from tagger.common.training_counts import LabelCounts
from tagger.modules import TokenLoss
from tagger.modules.loss_formulas import mean_over_known
from tagger.modules.weight_rules import BalancedWeightRule
from tests.linear_chain.chains import mask_of, random_tags
from tests.spans.tagged import vocabulary_of

#: The arguments that each registered loss is tested with.
LOSSES = {
    **{name: {} for name in sorted(TokenLoss.list_available())},
    "cross_entropy": {"label_smoothing": 0.2},
    "focal": {"gamma": 1.5},
    "class_balanced": {"gamma": 0.5, "beta": 0.9, "tag_counts": [30, 5, 2]},
    "dice": {"alpha": 0.3, "smoothing": 0.7},
    "logit_adjusted": {"tau": 1.3, "tag_counts": [30, 5, 0]},
}
WEIGHTS = [0.5, 2.0, 3.0]
LENGTHS = [4, 1, 3]
TAKES_WEIGHTS = sorted({*LOSSES} - {"class_balanced", "logit_adjusted"})


def loss_of(name, **arguments):
    if name in TAKES_WEIGHTS:
        arguments = {"tag_weights": WEIGHTS, **arguments}
    return TokenLoss.by_name(name)(**{**LOSSES[name], **arguments}).double()


@pytest.fixture
def batch():
    """Scores, gold tags, of which two are unknown, and the mask."""
    scores = (torch.randn(3, 4, 3, dtype=torch.float64) * 2).requires_grad_()
    gold_tags = random_tags(3, 4, 3)
    gold_tags[0, 1] = gold_tags[2, 0] = -1
    return scores, gold_tags, mask_of(LENGTHS)


@pytest.fixture
def vocab():
    return vocabulary_of(["O", "B-PER", "I-PER"])


def of_one_token(loss, scores, gold):
    """The loss of a token, and the gradient of its scores, which is always finite."""
    scores = torch.tensor([[scores]], requires_grad=True)
    value = loss.float()(scores, torch.tensor([[gold]]), torch.tensor([[True]]))
    value.sum().backward()
    assert scores.grad.isfinite().all()
    return value.item(), scores.grad[0, 0]


def softmax(scores):
    total = sum(math.exp(score) for score in scores)
    return [math.exp(score) / total for score in scores]


def cross_entropy(scores, y, label_smoothing):
    p = softmax(scores)
    target = [label_smoothing / len(p) + (1 - label_smoothing) * (k == y) for k in range(len(p))]
    return -WEIGHTS[y] * sum(mass * math.log(q) for mass, q in zip(target, p))


def focal(scores, y, gamma):
    p = softmax(scores)[y]
    return -WEIGHTS[y] * (1 - p) ** gamma * math.log(p)


def class_balanced(scores, y, gamma, beta, tag_counts):
    raw = [(1 - beta) / (1 - beta**count) for count in tag_counts]
    mean = sum(count * weight for count, weight in zip(tag_counts, raw)) / sum(tag_counts)
    p = softmax(scores)[y]
    return -raw[y] / mean * (1 - p) ** gamma * math.log(p)


def dice(tokens, alpha, smoothing):
    q = [[(1 - p) ** alpha * p for p in softmax(scores)] for scores, _ in tokens]
    losses = [0.0] * len(tokens)
    for k in range(3):
        size = smoothing + sum(row[k] ** 2 + (y == k) for row, (_, y) in zip(q, tokens))
        for i, (row, (_, y)) in enumerate(zip(q, tokens)):
            losses[i] += len(tokens) * WEIGHTS[y] * (row[k] - (y == k)) ** 2 / size
    return losses


def logit_adjusted(scores, y, tau, tag_counts):
    priors = [max(count, 1) / sum(tag_counts) for count in tag_counts]
    return -math.log(softmax([s + tau * math.log(q) for s, q in zip(scores, priors)])[y])


def of_each(formula):
    """The losses of tokens that do not depend on each other."""
    return lambda tokens, **settings: [formula(scores, y, **settings) for scores, y in tokens]


FORMULAS = {
    "cross_entropy": of_each(cross_entropy),
    "focal": of_each(focal),
    "class_balanced": of_each(class_balanced),
    "dice": dice,
    "logit_adjusted": of_each(logit_adjusted),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_each_loss_is_its_formula_at_known_tokens_and_zero_elsewhere(name, batch):
    scores, gold_tags, mask = batch
    known = (mask & (gold_tags >= 0)).nonzero().tolist()
    tokens = [(scores[b, t].tolist(), int(gold_tags[b, t])) for b, t in known]
    expected = torch.zeros(3, 4, dtype=torch.float64)
    for (b, t), loss in zip(known, FORMULAS[name](tokens, **LOSSES[name])):
        expected[b, t] = loss
    # weights are kept in single precision
    torch.testing.assert_close(loss_of(name)(*batch), expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_agree_with_finite_differences(name, batch):
    scores, gold_tags, mask = batch
    loss = loss_of(name)
    assert torch.autograd.gradcheck(lambda tensor: loss(tensor, gold_tags, mask), (scores,))


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("garbage", [1e6, torch.nan, torch.inf])
def test_what_lies_in_the_padding_and_at_unknown_tokens_changes_nothing(name, garbage, batch):
    scores, gold_tags, mask = batch
    has_gold_tag = mask & (gold_tags >= 0)
    dirty = scores.detach().masked_fill(~has_gold_tag.unsqueeze(2), garbage).requires_grad_()
    loss = loss_of(name)
    actual = loss(dirty, gold_tags.masked_fill(~mask, -7), mask)
    torch.testing.assert_close(actual, loss(scores, gold_tags, mask))
    actual.sum().backward()
    assert dirty.grad[has_gold_tag].abs().min() > 0
    assert not dirty.grad[~has_gold_tag].any()


@pytest.mark.parametrize("name", LOSSES)
def test_a_batch_of_unknown_tags_gives_zero_with_a_zero_gradient(name, batch):
    scores, gold_tags, mask = batch
    unknown = torch.full_like(gold_tags, -1)
    value = mean_over_known(loss_of(name)(scores, unknown, mask), unknown, mask)
    value.backward()
    assert value.item() == 0
    assert not scores.grad.any()


def sets_of(gold_tags, *others):
    """Each tag as a set of its own; with `others` in the sets of tokens (row, token, tag)."""
    sets = (gold_tags.unsqueeze(2) == torch.arange(3)) | (gold_tags.unsqueeze(2) == -1)
    for row, token, tag in others:
        sets[row, token, tag] = True
    return sets


@pytest.mark.parametrize("name", LOSSES)
def test_sets_of_one_tag_and_of_all_are_known_and_unknown_tags(name, batch):
    scores, gold_tags, mask = batch
    gold_sets, loss = sets_of(gold_tags), loss_of(name)
    torch.testing.assert_close(loss(scores, gold_sets, mask), loss(*batch))
    torch.testing.assert_close(
        mean_over_known(loss(scores, gold_sets, mask), gold_sets, mask),
        mean_over_known(loss(*batch), gold_tags, mask),
    )


@pytest.mark.parametrize(
    ("name", "arguments", "loss_of_share", "priors"),
    [
        ("cross_entropy", {"label_smoothing": 0.0}, lambda p: -math.log(p), [1, 1, 1]),
        ("focal", {}, lambda p: -((1 - p) ** 1.5) * math.log(p), [1, 1, 1]),
        ("logit_adjusted", {}, lambda p: -math.log(p), [30**1.3, 5**1.3, 1]),
    ],
)
def test_a_set_costs_what_a_tag_with_the_sum_of_its_probabilities_costs(
    name, arguments, loss_of_share, priors, batch
):
    scores, gold_tags, mask = batch
    gold_tags[0, 0] = 0
    gold_sets = sets_of(gold_tags, (0, 0, 2))
    p = softmax([s + math.log(prior) for s, prior in zip(scores[0, 0].tolist(), priors)])
    weight = (WEIGHTS[0] + WEIGHTS[2]) / 2 if name in TAKES_WEIGHTS else 1
    found = loss_of(name, **arguments)(scores, gold_sets, mask)[0, 0]
    assert found.item() == pytest.approx(weight * loss_of_share(p[0] + p[2]), rel=1e-6)


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_of_sets_agree_with_finite_differences(name, batch):
    scores, gold_tags, mask = batch
    gold_tags[0, 0], gold_tags[2, 2] = 0, 1
    gold_sets, loss = sets_of(gold_tags, (0, 0, 2), (2, 2, 2)), loss_of(name)
    assert torch.autograd.gradcheck(lambda tensor: loss(tensor, gold_sets, mask), (scores,))


@pytest.mark.parametrize("name", LOSSES)
def test_a_set_of_impossible_tags_gives_no_nan(name):
    value, _ = of_one_token(loss_of(name), [0.5, -torch.inf, -torch.inf], [False, True, True])
    assert not math.isnan(value)


@pytest.mark.parametrize("name", sorted({*LOSSES} - {"dice"}))
def test_sequences_do_not_depend_on_the_batch(name, batch):
    loss = loss_of(name)
    together = loss(*batch)
    for row, length in enumerate(LENGTHS):
        alone = loss(*(tensor[row : row + 1, :length] for tensor in batch))
        torch.testing.assert_close(alone[0], together[row, :length])


def test_the_mean_is_over_known_tokens_and_not_by_weight(batch):
    losses = loss_of("cross_entropy")(*batch)
    # four, one and three tokens, of which two are unknown
    torch.testing.assert_close(mean_over_known(losses, *batch[1:]), losses.sum() / 6)


def test_the_mean_dice_loss_is_one_minus_the_coefficient_of_each_tag(batch):
    scores, gold_tags, mask = batch
    loss = TokenLoss.by_name("dice")(smoothing=0.7)
    mean = mean_over_known(loss(*batch), gold_tags, mask)
    has_gold_tag = mask & (gold_tags >= 0)
    p = scores.softmax(2)[has_gold_tag]
    is_gold = torch.nn.functional.one_hot(gold_tags[has_gold_tag], 3)
    overlap, size = (p * is_gold).sum(0), (p**2 + is_gold).sum(0)
    torch.testing.assert_close(mean, (1 - (2 * overlap + 0.7) / (size + 0.7)).sum())


def test_the_dice_loss_of_each_token_is_one_minus_its_own_coefficients(batch):
    loss = TokenLoss.by_name("dice")(alpha=0.3, smoothing=0.7, of_each_token=True)
    scores, gold_tags, mask = batch
    for b, t in (mask & (gold_tags >= 0)).nonzero().tolist():
        expected = 0.0
        for k, p in enumerate(softmax(scores[b, t].tolist())):
            q, is_gold = (1 - p) ** 0.3 * p, float(k == gold_tags[b, t])
            expected += 1 - (2 * q * is_gold + 0.7) / (q**2 + is_gold + 0.7)
        alone = loss(*(tensor[b : b + 1, t : t + 1] for tensor in batch))
        assert loss(*batch)[b, t].item() == pytest.approx(expected) == alone.item()
    assert torch.autograd.gradcheck(lambda tensor: loss(tensor, gold_tags, mask), (scores,))


@pytest.mark.parametrize("of_each_token", [False, True])
@pytest.mark.parametrize("alpha", [0.05, 0.3, 0.9])
def test_the_dice_loss_of_sure_tokens_is_as_exact_in_float32(alpha, of_each_token):
    loss = TokenLoss.by_name("dice")(alpha=alpha, of_each_token=of_each_token)
    scores = torch.tensor([[[20.0, 0, 0], [0, -18, 1], [3, 0, 60]]], dtype=torch.float64)
    gold_tags, mask = torch.tensor([[0, 1, 2]]), torch.ones(1, 3, dtype=torch.bool)
    values, slopes = [], []
    for dtype in (torch.float64, torch.float32):
        rounded = scores.to(dtype).requires_grad_()
        values.append(loss.to(dtype)(rounded, gold_tags, mask))
        slopes.append(torch.autograd.grad(values[-1].sum(), rounded)[0])
    for exact, found in (values, slopes):
        torch.testing.assert_close(found.double(), exact, rtol=1e-5, atol=1e-6)


def test_dice_learns_rare_tags_from_tokens_that_are_mostly_o():
    gold_tags = torch.multinomial(torch.tensor([0.85, 0.07, 0.05, 0.03]), 400, replacement=True)
    centres = torch.eye(4, 8)
    centres[0] = 0
    features = torch.randn(400, 8) + 1.8 * centres[gold_tags]
    model = torch.nn.Sequential(
        torch.nn.Linear(8, 16),
        torch.nn.ReLU(),
        torch.nn.Linear(16, 4),
        torch.nn.Unflatten(0, (1, 400)),
    )
    loss, optimizer = TokenLoss.by_name("dice")(), torch.optim.Adam(model.parameters(), lr=0.03)
    gold_tags, mask = gold_tags.unsqueeze(0), torch.ones(1, 400, dtype=torch.bool)
    for _ in range(40):
        optimizer.zero_grad()
        mean_over_known(loss(model(features), gold_tags, mask), gold_tags, mask).backward()
        optimizer.step()
    is_found = model(features).argmax(2) == gold_tags
    for tag in (1, 2, 3):
        assert is_found[gold_tags == tag].double().mean() > 0.5
    assert is_found.double().mean() > 0.9


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("focal", {"gamma": 0.0}),
        ("class_balanced", {"gamma": 0.0, "tag_counts": [7, 7, 7]}),
        ("logit_adjusted", {"tau": 0.0}),
        ("logit_adjusted", {"tag_counts": [7, 7, 7]}),
    ],
)
def test_settings_that_balance_nothing_give_plain_cross_entropy(name, arguments, batch):
    plain = TokenLoss.by_name("cross_entropy")()(*batch)
    gold_tags = batch[1].masked_fill(~batch[2], -1)
    torch.testing.assert_close(
        plain,
        torch.nn.functional.cross_entropy(
            batch[0].transpose(1, 2), gold_tags, ignore_index=-1, reduction="none"
        ),
    )
    without_weights = {"tag_weights": None} if name in TAKES_WEIGHTS else {}
    torch.testing.assert_close(loss_of(name, **arguments, **without_weights)(*batch), plain)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("gold", [0, 1])
def test_extreme_scores_stay_finite(name, gold):
    assert math.isfinite(of_one_token(loss_of(name), [1e4, -1e4, 0.0], gold)[0])


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("others", [1e-3, -1.0, -50.0])
def test_impossible_tags_get_no_gradient_and_give_no_nan(name, others):
    value, gradient = of_one_token(loss_of(name), [0.5, -torch.inf, others], 0)
    assert math.isfinite(value)
    assert gradient[1] == 0


@pytest.mark.parametrize("name", LOSSES)
def test_an_impossible_gold_tag_gives_no_nan(name):
    value, _ = of_one_token(loss_of(name), [0.5, -torch.inf, -1.0], 1)
    assert not math.isnan(value)
    assert math.isfinite(value) == (name == "dice")


def test_smoothing_leaves_impossible_tags_out():
    loss = TokenLoss.by_name("cross_entropy")(label_smoothing=0.2)
    p, q = softmax([0.5, -1.0])
    value, _ = of_one_token(loss, [0.5, -torch.inf, -1.0], 0)
    assert value == pytest.approx(-0.9 * math.log(p) - 0.1 * math.log(q))


@pytest.mark.parametrize("gamma", [0.5, 2.0])
def test_a_certain_token_has_no_focal_loss_and_no_nan(gamma):
    value, gradient = of_one_token(TokenLoss.by_name("focal")(gamma=gamma), [300.0, 0.0], 0)
    assert value == 0
    assert not gradient.any()


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_in_single(name, dtype, batch):
    scores, gold_tags, mask = batch
    loss = loss_of(name).float()
    half = scores.detach().to(dtype)
    actual = loss(half, gold_tags, mask)
    assert actual.dtype == torch.float32
    torch.testing.assert_close(actual, loss(half.float(), gold_tags, mask))


@pytest.mark.parametrize("name", LOSSES)
def test_what_the_caller_gives_is_not_written_to(name, batch):
    copies = [tensor.detach().clone() for tensor in batch]
    loss_of(name)(*batch).sum().backward()
    for tensor, copy in zip(batch, copies):
        assert torch.equal(tensor, copy)


@pytest.mark.parametrize("name", LOSSES)
def test_one_tag_and_one_token_are_no_trouble(name):
    arguments = {"tag_counts": [3]} if "tag_counts" in LOSSES[name] else {"tag_weights": [2.0]}
    value, gradient = of_one_token(loss_of(name, **arguments), [0.0], 0)
    assert math.isfinite(value)
    assert not gradient.any()


def learnt_share(loss):
    """How probable tag 1 becomes if tokens look alike, and a third of them has it."""
    gold_tags = torch.tensor([[0, 0, 1, 0, 1, 0, 0, 0, 1]])
    scores = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([scores], max_iter=50)

    def step():
        optimizer.zero_grad()
        value = loss(scores.expand(1, 9, 2), gold_tags, gold_tags >= 0).sum()
        value.backward()
        return value

    optimizer.step(step)
    return float(scores.softmax(0)[1].detach())


def test_a_heavier_tag_becomes_more_probable():
    shares = [
        learnt_share(TokenLoss.by_name("cross_entropy")(tag_weights=[1.0, c]).double())
        for c in (0.25, 1.0, 4.0)
    ]
    # as if the tag occurred a quarter, one, or four times as often
    assert shares == pytest.approx([0.75 / 6.75, 1 / 3, 12 / 18], rel=1e-4)


def test_adjusted_scores_prefer_no_tag_for_its_frequency():
    loss = TokenLoss.by_name("logit_adjusted")(tag_counts=[6, 3]).double()
    assert learnt_share(loss) == pytest.approx(1 / 2, rel=1e-4)


def test_a_config_may_leave_the_loss_type_out_and_name_weights_by_label(vocab):
    params = Params({"label_weights": {"PER": 2, "I-PER": 3}, "label_smoothing": 0.1})
    loss = TokenLoss.from_params(params, vocab=vocab, label_namespace="labels")
    assert loss.tag_weights.tolist() == [1, 2, 3]
    assert loss.label_smoothing == 0.1


@pytest.mark.parametrize("name", ["class_balanced", "logit_adjusted"])
def test_training_counts_do_what_counts_that_are_given_do(name, vocab, batch):
    extras = {"vocab": vocab, "label_namespace": "labels"}
    loss, other = (TokenLoss.from_params(Params({"type": name}), **extras) for _ in range(2))
    with pytest.raises(RuntimeError, match="the training labels have not been counted"):
        loss(*batch)
    counts = {"labels": {"O": 30, "B-PER": 5}, "others": {"I-PER": 4}}
    for module in loss.modules():
        if hasattr(module, "use_training_counts"):
            module.use_training_counts(LabelCounts(counts, {"labels": 35, "others": 4}))
    given = TokenLoss.by_name(name)(tag_counts=[30, 5, 0])
    torch.testing.assert_close(loss(*batch), given(*batch))
    other.load_state_dict(loss.state_dict())
    torch.testing.assert_close(other(*batch), given(*batch))


def test_all_losses_but_those_that_bring_their_own_take_weights_by_rule(batch):
    for name in TAKES_WEIGHTS:
        by_rule = {"weight_rule": BalancedWeightRule(), "tag_counts": [6, 3, 3]}
        loss = loss_of(name, tag_weights=None, **by_rule)
        given = loss_of(name, tag_weights=[2 / 3, 4 / 3, 4 / 3])
        torch.testing.assert_close(loss(*batch), given(*batch))


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("cross_entropy", {"label_smoothing": 1.0}, "`label_smoothing` must be .*; got 1.0"),
        ("cross_entropy", {"label_smoothing": -0.1}, "`label_smoothing` must be .*; got -0.1"),
        ("cross_entropy", {"label_weights": {"PER": 2.0}}, "at most one of `tag_weights`"),
        ("focal", {"gamma": -1.0}, "`gamma` must be .*; got -1.0"),
        ("focal", {"gamma": math.nan}, "`gamma` must be .*; got nan"),
        ("class_balanced", {"beta": 1.0}, "`beta` must be above 0 and below 1; got 1.0"),
        ("class_balanced", {"tag_counts": None}, "need a vocabulary"),
        ("dice", {"alpha": -0.5}, "`alpha` must be a finite number of at least 0; got -0.5"),
        ("dice", {"smoothing": 0.0}, "`smoothing` must be a finite number above 0; got 0.0"),
        ("logit_adjusted", {"tau": math.inf}, "`tau` must be .*; got inf"),
        ("logit_adjusted", {"tag_counts": None}, "need a vocabulary .* or give `tag_counts`"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(name, arguments, message):
    with pytest.raises(ConfigurationError, match=message):
        loss_of(name, **arguments)


@pytest.mark.parametrize(
    ("gold_tags", "mask", "message"),
    [
        ([[0, 3]], [[True, True]], "`gold_tags` must lie in 0 to 2 .* row 0 has 3 at token 1"),
        ([[-2, 0]], [[True, True]], "row 0 has -2 at token 0"),
        ([[0, 1, 2]], [[True, True]], r"`gold_tags` must .*; got torch.int64 of shape \(1, 3\)"),
        ([[0, 1]], [[True]], r"`mask` \(B, T\); got \(1, 2, 3\) and \(1, 1\)"),
        ([[[True] * 2] * 2], [[True, True]], r"got torch.bool of shape \(1, 2, 2\)"),
        ([[[True, False, False], [False] * 3]], [[True, True]], "at least one tag; row 0 allows"),
    ],
)
def test_tags_that_do_not_fit_are_refused(gold_tags, mask, message):
    with pytest.raises(ValueError, match=message):
        loss_of("focal")(torch.zeros(1, 2, 3), torch.tensor(gold_tags), torch.tensor(mask))


@pytest.mark.parametrize("name", LOSSES)
def test_scores_of_too_many_tags_are_refused(name):
    with pytest.raises(ValueError, match="`scores` must be of as many tags as .*, 3; got 4"):
        loss_of(name)(torch.zeros(1, 1, 4), torch.tensor([[0]]), torch.tensor([[True]]))
