"""Properties of all losses, for tokens with one tag and items with several labels; then of some."""

import math

import pytest
import torch
from allennlp.common import Params

from tagger.common.training_counts import LabelCounts
from tagger.modules import MultiLabelLoss, TokenLoss
from tagger.modules.weight_rules import BalancedWeightRule
from tests.linear_chain.chains import mask_of
from tests.modules.losses import (
    CASES,
    FORMULAS,
    LABEL_COUNTS,
    NUM_ITEMS,
    TAG_COUNTS,
    TAKES_WEIGHTS,
    WEIGHTS,
    are_counted,
    batch_of,
    counts_for,
    focal,
    learnt_share,
    make,
    sigmoid,
    softmax,
)
from tests.spans.tagged import vocabulary_of

of_all = pytest.mark.parametrize(("base", "name", "settings"), CASES)
#: Each loss with its first settings.
of_each = pytest.mark.parametrize(("base", "name"), [case[:2] for case in CASES if not case[2]])
TOKEN_LOSSES = sorted(TokenLoss.list_available())


@of_all
def test_it_equals_its_formula_at_known_items_and_zero_elsewhere(base, name, settings):
    scores, gold, mask = batch = batch_of(base)
    is_item = are_counted(base, gold, mask).any(-1)
    items = list(zip(scores[is_item].tolist(), gold[is_item].tolist()))
    expected = torch.zeros(mask.shape, dtype=torch.float64)
    expected[is_item] = torch.tensor(FORMULAS[base][name](items, **settings)).double()
    # Weights are stored in single precision.
    torch.testing.assert_close(make(base, name, **settings)(*batch), expected, rtol=1e-5, atol=1e-6)


@of_all
def test_gradients_agree_with_finite_differences(base, name, settings):
    scores, *others = batch_of(base)
    loss = make(base, name, **settings)
    assert torch.autograd.gradcheck(lambda tensor: loss(tensor, *others), (scores,))


@of_each
@pytest.mark.parametrize("garbage", [1e6, torch.nan, torch.inf])
def test_unknown_and_padded_scores_change_nothing_and_no_argument_is_changed(base, name, garbage):
    scores, gold, mask = batch_of(base)
    counts = are_counted(base, gold, mask)
    dirty = scores.detach().masked_fill(~counts, garbage).requires_grad_()
    is_padding = ~mask if base is TokenLoss else ~mask.unsqueeze(-1)
    arguments = dirty, gold.masked_fill(is_padding, -7), mask
    copies = [each.detach().clone() for each in arguments]
    actual = make(base, name)(*arguments)
    torch.testing.assert_close(actual, make(base, name)(scores, gold, mask))
    actual.sum().backward()
    assert (dirty.grad != 0).any(-1)[counts.any(-1)].all()
    assert not dirty.grad[~counts].any()
    torch.testing.assert_close(list(arguments), copies, equal_nan=True)


@of_each
def test_a_batch_of_unknown_items_gives_zero_with_a_zero_gradient(base, name):
    scores, gold, mask = batch_of(base)
    unknown = torch.full_like(gold, -1)
    value = make(base, name)(scores, unknown, mask).sum()
    value.backward()
    assert value.item() == 0
    assert not scores.grad.any()


# Dice sums over the batch.
@pytest.mark.parametrize(
    ("base", "name"), [case[:2] for case in CASES if not case[2] and case[1] != "dice"]
)
def test_items_do_not_depend_on_the_batch(base, name):
    scores, gold, mask = batch_of(base)
    loss = make(base, name)
    together = loss(scores, gold, mask)
    for row in range(len(mask)):
        alone = loss(*(each[row : row + 1] for each in (scores, gold, mask)))
        torch.testing.assert_close(alone[0], together[row])
    if base is MultiLabelLoss:
        flat = loss(*(each.flatten(0, 1) for each in (scores, gold, mask)))
        torch.testing.assert_close(flat, together.flatten())


@of_each
@pytest.mark.parametrize("size", [100, 1e4])
def test_extreme_scores_stay_finite(base, name, size):
    scores, gold, mask = batch_of(base)
    extreme = (size * scores.detach().sign()).float().requires_grad_()
    losses = make(base, name).float()(extreme, gold, mask)
    losses.sum().backward()
    assert losses.isfinite().all()
    assert extreme.grad.isfinite().all()


@of_each
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_in_single_precision(base, name, dtype):
    scores, gold, mask = batch_of(base)
    loss, half = make(base, name).float(), scores.detach().to(dtype)
    losses = loss(half, gold, mask)
    assert losses.dtype == torch.float32
    torch.testing.assert_close(losses, loss(half.float(), gold, mask))


def from_config(base, names, **params):
    extras = {"vocab": vocabulary_of(names), "label_namespace": "labels"}
    return base.from_params(Params(params), **extras)


def supply(loss, counts, num_items):
    labelled = LabelCounts({"labels": counts, "others": {"A": 4}}, {"labels": num_items})
    for module in loss.modules():
        if hasattr(module, "use_training_counts"):
            module.use_training_counts(labelled)


@pytest.mark.parametrize(
    ("base", "name"), sorted({case[:2] for case in CASES if counts_for(*case[:2])}, key=str)
)
def test_training_counts_act_like_given_counts_and_are_saved(base, name):
    batch = batch_of(base)
    counts = TAG_COUNTS if base is TokenLoss else LABEL_COUNTS
    loss, again = (from_config(base, ["A", "B", "C"], type=name) for _ in range(2))
    with pytest.raises(RuntimeError, match="the training labels have not been counted"):
        loss(*batch)
    with pytest.raises(ValueError, match="training data have none of the labels A, B, C"):
        supply(loss, {}, 0)
    supply(loss, dict(zip("ABC", counts)), sum(counts) if base is TokenLoss else NUM_ITEMS)
    given = base.by_name(name)(**counts_for(base, name))
    torch.testing.assert_close(loss(*batch), given(*batch))
    again.load_state_dict(loss.half().state_dict() if base is MultiLabelLoss else loss.state_dict())
    torch.testing.assert_close(again(*batch), given(*batch))
    # Classes that occur in no item or in every item.
    extreme = {"tag_counts": [0, 5, 3]}
    if base is MultiLabelLoss:
        extreme = {"label_counts": [0, 5, 3], "num_items": 5}
    assert base.by_name(name)(**extreme)(*batch).isfinite().all()


GAMMAS_AND_MARGIN = ("positive_gamma", "negative_gamma", "margin")


@pytest.mark.parametrize(
    ("base", "name", "settings", "factor"),
    [
        (TokenLoss, "focal", {"gamma": 0.0, "tag_weights": None}, 1),
        (TokenLoss, "class_balanced", {"gamma": 0.0, "tag_counts": [7, 7, 7]}, 1),
        (TokenLoss, "logit_adjusted", {"tau": 0.0}, 1),
        (TokenLoss, "logit_adjusted", {"tag_counts": [7, 7, 7]}, 1),
        (MultiLabelLoss, "focal", {"gamma": 0}, 1),
        (MultiLabelLoss, "focal", {"gamma": 0, "alpha": 0.5}, 0.5),
        (MultiLabelLoss, "asymmetric", dict.fromkeys(GAMMAS_AND_MARGIN, 0), 1),
        (MultiLabelLoss, "class_balanced_focal", {"gamma": 0, "beta": 0}, 1),
        (MultiLabelLoss, "rebalanced_focal", {"gamma": 0, "alpha": 0.5, "beta": 0}, 1),
        (MultiLabelLoss, "negative_tolerant", {"gamma": 0, "kappa": 0, "negative_scale": 1}, 1),
    ],
)
def test_neutral_settings_give_plain_cross_entropy(base, name, settings, factor):
    batch = batch_of(base)
    plain = base.by_name(base.default_implementation)()
    expected = factor * plain(*batch)
    torch.testing.assert_close(make(base, name, **settings)(*batch), expected)


def sets_of(gold_tags, *others):
    """Returns each tag as a set, and adds the `others`, (row, token, tag)."""
    sets = (gold_tags.unsqueeze(2) == torch.arange(3)) | (gold_tags.unsqueeze(2) == -1)
    for place in others:
        sets[place] = True
    return sets


@pytest.mark.parametrize("name", TOKEN_LOSSES)
def test_sets_of_one_tag_and_of_all_tags_equal_known_and_unknown_tags(name):
    scores, gold_tags, mask = batch = batch_of(TokenLoss)
    gold_sets, loss = sets_of(gold_tags), make(TokenLoss, name)
    torch.testing.assert_close(loss(scores, gold_sets, mask), loss(*batch))
    gold_tags[0, 0], gold_tags[2, 2] = 0, 1
    several = sets_of(gold_tags, (0, 0, 2), (2, 2, 2))
    assert torch.autograd.gradcheck(lambda tensor: loss(tensor, several, mask), (scores,))


@pytest.mark.parametrize(
    ("name", "settings", "loss_of_share", "priors"),
    [
        ("cross_entropy", {}, lambda p: -math.log(p), [1, 1, 1]),
        ("focal", {"gamma": 1.5}, lambda p: -((1 - p) ** 1.5) * math.log(p), [1, 1, 1]),
        ("logit_adjusted", {"tau": 1.3}, lambda p: -math.log(p), [n**1.3 for n in TAG_COUNTS]),
    ],
)
def test_a_set_has_the_loss_of_a_tag_with_its_total_probability(
    name, settings, loss_of_share, priors
):
    scores, gold_tags, mask = batch_of(TokenLoss)
    gold_tags[0, 0] = 0
    p = softmax([s + math.log(prior) for s, prior in zip(scores[0, 0].tolist(), priors)])
    weight = (WEIGHTS[0] + WEIGHTS[2]) / 2 if name in TAKES_WEIGHTS else 1
    loss = make(TokenLoss, name, **settings)
    found = loss(scores, sets_of(gold_tags, (0, 0, 2)), mask)[0, 0]
    assert found.item() == pytest.approx(weight * loss_of_share(p[0] + p[2]), rel=1e-6)


def of_one_token(loss, scores, gold):
    """The loss of a token and the gradient of its scores, which must be finite."""
    scores = torch.tensor([[scores]], requires_grad=True)
    value = loss.float()(scores, torch.tensor([[gold]]), torch.tensor([[True]]))
    value.sum().backward()
    assert scores.grad.isfinite().all()
    return value.item(), scores.grad[0, 0]


@pytest.mark.parametrize("name", TOKEN_LOSSES)
def test_impossible_tags_give_no_gradient_and_no_nan(name):
    loss = make(TokenLoss, name)
    for others in (1e-3, -1.0, -50.0):
        value, gradient = of_one_token(loss, [0.5, -torch.inf, others], 0)
        assert math.isfinite(value)
        assert gradient[1] == 0
    value, _ = of_one_token(loss, [0.5, -torch.inf, -1.0], 1)
    assert not math.isnan(value)
    assert math.isfinite(value) == (name == "dice")
    value, _ = of_one_token(loss, [0.5, -torch.inf, -torch.inf], [False, True, True])
    assert not math.isnan(value)
    # With a single tag, the tag is certain.
    single = {"tag_counts": [3]} if counts_for(TokenLoss, name) else {"tag_weights": [2.0]}
    value, gradient = of_one_token(make(TokenLoss, name, **single), [0.0], 0)
    assert math.isfinite(value)
    assert not gradient.any()


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


def test_the_mean_dice_loss_is_one_minus_the_coefficient_of_each_tag():
    scores, gold_tags, mask = batch_of(TokenLoss)
    loss = TokenLoss.by_name("dice")(smoothing=0.7)
    has_gold_tag = mask & (gold_tags >= 0)
    mean = loss(scores, gold_tags, mask).sum() / has_gold_tag.sum()
    p = scores.softmax(2)[has_gold_tag]
    is_gold = torch.nn.functional.one_hot(gold_tags[has_gold_tag], 3)
    overlap, size = (p * is_gold).sum(0), (p**2 + is_gold).sum(0)
    torch.testing.assert_close(mean, (1 - (2 * overlap + 0.7) / (size + 0.7)).sum())


@pytest.mark.parametrize("of_each_token", [False, True])
@pytest.mark.parametrize("alpha", [0.05, 0.3, 0.9])
def test_the_dice_loss_of_confident_tokens_is_as_exact_in_float32(alpha, of_each_token):
    loss = TokenLoss.by_name("dice")(alpha=alpha, of_each_token=of_each_token)
    scores = torch.tensor([[[20.0, 0, 0], [0, -18, 1], [3, 0, 60]]], dtype=torch.float64)
    gold_tags, mask = torch.tensor([[0, 1, 2]]), torch.ones(1, 3, dtype=torch.bool)
    found = []
    for dtype in (torch.float64, torch.float32):
        rounded = scores.to(dtype).requires_grad_()
        value = loss.to(dtype)(rounded, gold_tags, mask)
        found.append([value, *torch.autograd.grad(value.sum(), rounded)])
    for exact, single in zip(*found):
        torch.testing.assert_close(single.double(), exact, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("loss", "share"),
    [
        # As if the tag occurred a quarter, once, or four times as often.
        (TokenLoss.by_name("cross_entropy")(tag_weights=[1.0, 0.25]), 0.75 / 6.75),
        (TokenLoss.by_name("cross_entropy")(tag_weights=[1.0, 1.0]), 1 / 3),
        (TokenLoss.by_name("cross_entropy")(tag_weights=[1.0, 4.0]), 12 / 18),
        # Adjusted scores do not prefer frequent tags.
        (TokenLoss.by_name("logit_adjusted")(tag_counts=[6, 3]), 1 / 2),
    ],
)
def test_weights_and_priors_shift_what_is_learnt_from_identical_tokens(loss, share):
    def loss_of(scores, gold_tags):
        return loss.double()(scores, gold_tags, gold_tags >= 0)

    assert learnt_share(loss_of) == pytest.approx(share, rel=1e-4)


def test_a_config_may_omit_the_loss_type_and_give_weights_by_label():
    params = {"label_weights": {"PER": 2, "I-PER": 3}, "label_smoothing": 0.1}
    loss = from_config(TokenLoss, ["O", "B-PER", "I-PER"], **params)
    assert loss.tag_weights.tolist() == [1, 2, 3]
    assert loss.label_smoothing == 0.1


@pytest.mark.parametrize("name", TAKES_WEIGHTS)
def test_losses_accept_weights_by_rule(name):
    batch = batch_of(TokenLoss)
    by_rule = {"weight_rule": BalancedWeightRule(), "tag_counts": [6, 3, 3], "tag_weights": None}
    given = make(TokenLoss, name, tag_weights=[2 / 3, 4 / 3, 4 / 3])
    torch.testing.assert_close(make(TokenLoss, name, **by_rule)(*batch), given(*batch))


# The probabilities are 0.95, 0.61 and 0.12, and 0.59, 0.61 and 0.98.
CORRECTED_SCORES = torch.tensor([[3.0, 0.45, -2.0], [0.35, 0.45, 4.0]], dtype=torch.float64)
CORRECTED_LABELS = torch.tensor([[0, 1, 0], [0, 0, -1]])


def corrected(z, y, gamma=2.0, threshold=0.6, margin=1.0):
    return focal(z - margin if y else z, y or sigmoid(z) > threshold, gamma)


@pytest.mark.parametrize("settings", [{}, {"gamma": 0.7, "threshold": 0.2, "margin": 0.5}])
def test_after_the_warm_up_probable_negatives_count_as_positives(settings):
    loss = make(MultiLabelLoss, "self_paced_correction", warm_up_epochs=0, **settings)
    expected = [
        sum(corrected(z, y, **settings) for z, y in zip(zs, ys) if y >= 0)
        for zs, ys in zip(CORRECTED_SCORES.tolist(), CORRECTED_LABELS.tolist())
    ]
    losses = loss(CORRECTED_SCORES, CORRECTED_LABELS)
    torch.testing.assert_close(losses, torch.tensor(expected).double())
    scores = CORRECTED_SCORES.clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda s: loss(s, CORRECTED_LABELS), scores)
    loss(scores, CORRECTED_LABELS).sum().backward()
    # The gradient raises the score of the missed label.
    assert scores.grad[0, 0] < 0 < scores.grad[0, 2]


def test_the_correction_begins_after_the_warm_up_counted_in_items():
    settings = {"label_counts": [3, 2, 1], "num_items": 5, "warm_up_epochs": 2}
    name = "self_paced_correction"
    loss, again = (MultiLabelLoss.by_name(name)(**settings) for _ in range(2))
    before = focal(3.0, 0) + focal(0.45 - 1, 1) + focal(-2.0, 0)
    after = focal(3.0, 1) + focal(0.45 - 1, 1) + focal(-2.0, 0)
    labels = torch.cat([CORRECTED_LABELS, torch.full((2, 3), -1)])
    scores = torch.cat([CORRECTED_SCORES, torch.zeros(2, 3)])
    # Two of the four items count. Masked items, items without a known label, and evaluation do not.
    for _ in range(5):
        assert loss.train()(scores, labels)[0].item() == pytest.approx(before)
        loss(scores[:1], labels[:1], torch.zeros(1).bool())
        loss.eval()(scores, labels)
    again.load_state_dict(loss.state_dict())
    for each in (loss, again):
        # There is no correction in evaluation.
        assert each.eval()(scores, labels)[0].item() == pytest.approx(before)
        assert each.train()(scores, labels)[0].item() == pytest.approx(after)


def test_with_one_label_per_item_distribution_balancing_weighs_all_positives_equally():
    only_positives = 2 * torch.eye(3, dtype=torch.long) - 1
    losses = make(MultiLabelLoss, "rebalanced_focal")(torch.zeros(3, 3), only_positives)
    assert losses.tolist() == pytest.approx([float(losses[0])] * 3)


def test_positive_weights_are_given_by_label():
    loss = from_config(MultiLabelLoss, "ABC", positive_weights={"B": 3, "C": 0.5})
    losses = loss(torch.zeros(4, 3), torch.tensor([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]]))
    assert losses.tolist() == pytest.approx([n * math.log(2) for n in (3, 5, 2.5, 3)])


@pytest.mark.parametrize(("rule", "power"), [("balanced", 1), ("inverse_sqrt", 0.5)])
def test_positive_weights_by_rule_follow_the_counts_and_are_saved(rule, power):
    loss, again = (from_config(MultiLabelLoss, "ABC", weight_rule=rule) for _ in range(2))
    with pytest.raises(RuntimeError, match="the training labels have not been counted"):
        loss(torch.zeros(1, 3), torch.ones(1, 3))
    supply(loss, dict(zip("ABC", LABEL_COUNTS)), NUM_ITEMS)
    again.load_state_dict(loss.state_dict())
    expected = [((NUM_ITEMS - n) / n) ** power for n in LABEL_COUNTS]
    assert again.positive_weights.tolist() == pytest.approx(expected)
    assert again(torch.zeros(1, 3), torch.ones(1, 3)).isfinite()


@pytest.mark.parametrize(
    ("gold_tags", "num_tokens", "message"),
    [
        ([[0, 3]], 2, "`gold_tags` must lie in 0 to 2 .* row 0 has 3 at token 1"),
        ([[-2, 0]], 2, "row 0 has -2 at token 0"),
        ([[0, 1, 2]], 2, r"`gold_tags` must .*; got torch.int64 of shape \(1, 3\)"),
        ([[0, 1]], 1, r"`mask` \(B, T\); got \(1, 2, 3\) and \(1, 1\)"),
        ([[[True] * 2] * 2], 2, r"got torch.bool of shape \(1, 2, 2\)"),
        ([[[True, False, False], [False] * 3]], 2, "at least one tag; row 0 allows"),
    ],
)
def test_invalid_tags_are_refused(gold_tags, num_tokens, message):
    mask = mask_of([num_tokens])
    with pytest.raises(ValueError, match=message):
        make(TokenLoss, "focal")(torch.zeros(1, 2, 3), torch.tensor(gold_tags), mask)


@pytest.mark.parametrize("name", TOKEN_LOSSES)
def test_scores_of_too_many_tags_are_refused(name):
    loss = make(TokenLoss, name)
    with pytest.raises(ValueError, match="`scores` must be of as many tags as .*, 3; got 4"):
        loss(torch.zeros(1, 1, 4), torch.tensor([[0]]), torch.tensor([[True]]))


@pytest.mark.parametrize("shapes", [[(2, 3), (2, 4), (2,)], [(2, 3), (2, 3), (2, 3)]])
def test_mismatched_shapes_are_refused(shapes):
    scores, gold_labels, mask = (torch.ones(shape) for shape in shapes)
    with pytest.raises(ValueError, match="`scores` and `gold_labels` must have one shape"):
        make(MultiLabelLoss, "focal")(scores, gold_labels, mask.bool())
