"""Each loss against its formula, written out label by label in plain Python."""

import math
from functools import partial

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError

from tagger.common.training_counts import LabelCounts
from tagger.modules import MultiLabelLoss
from tagger.modules.counted_multi_label_losses import CountedLoss
from tests.spans.tagged import vocabulary_of

# Too large for half precision.
COUNTS, NUM_ITEMS = [5001, 7, 1], 10_007
COUNTED = {"label_counts": COUNTS, "num_items": NUM_ITEMS}


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def focal(z, y, gamma=2.0, **_):
    q = sigmoid(z if y else -z)
    return -((1 - q) ** gamma) * math.log(q)


def negative_tolerant(z, y, i, kappa=0.05, negative_scale=2.0, gamma=2.0, **_):
    s = z - kappa * math.log(NUM_ITEMS / COUNTS[i] - 1)
    return focal(s, y, gamma) if y else focal(negative_scale * s, y, gamma) / negative_scale


def asymmetric(z, y, positive_gamma=0.0, negative_gamma=4.0, margin=0.05):
    if y:
        return focal(z, y, positive_gamma)
    r = max(sigmoid(z) - margin, 0)
    return -(r**negative_gamma) * math.log(1 - r)


def hill(z, y, steepness=1.5, margin=1.0, gamma=2.0):
    p = sigmoid(z)
    return focal(z - margin, y, gamma) if y else (steepness - p) * p**2


def class_balanced(i, beta=0.9, **_):
    return (1 - beta) / (1 - beta ** COUNTS[i])


def rebalanced(i, all_gold, alpha=0.1, beta=10.0, mu=0.9, **_):
    drawn = sum(1 / COUNTS[j] for j, y in enumerate(all_gold) if y == 1)
    r = (1 / COUNTS[i]) / drawn if drawn else 1
    return alpha + sigmoid(beta * (r - mu))


FORMULAS = {
    "binary_cross_entropy": lambda z, y, i, ys: focal(z, y, gamma=0),
    "focal": lambda z, y, i, ys, alpha=None, **kw: (
        focal(z, y, **kw) * (1 if alpha is None else alpha if y else 1 - alpha)
    ),
    "asymmetric": lambda z, y, i, ys, **kw: asymmetric(z, y, **kw),
    "hill": lambda z, y, i, ys, **kw: hill(z, y, **kw),
    # Before the correction.
    "self_paced_correction": lambda z, y, i, ys, threshold=0.6, margin=1.0, **kw: focal(
        z - margin if y else z, y, **kw
    ),
    "class_balanced_focal": lambda z, y, i, ys, **kw: class_balanced(i, **kw) * focal(z, y, **kw),
    "rebalanced_focal": lambda z, y, i, ys, **kw: rebalanced(i, ys, **kw) * focal(z, y, **kw),
    "negative_tolerant": lambda z, y, i, ys, **kw: negative_tolerant(z, y, i, **kw),
    "distribution_balanced": lambda z, y, i, ys, **kw: (
        rebalanced(i, ys, **kw) * negative_tolerant(z, y, i, **kw)
    ),
    "class_balanced_negative_tolerant": lambda z, y, i, ys, **kw: (
        class_balanced(i, **kw) * negative_tolerant(z, y, i, **kw)
    ),
}
NAMES = sorted(MultiLabelLoss.list_available())
NEGATIVE_TOLERANT = {"kappa": 0.3, "negative_scale": 3.5}
SETTINGS = [
    *[(name, {}) for name in NAMES],
    ("focal", {"gamma": 0.7, "alpha": 0.3}),
    ("asymmetric", {"positive_gamma": 1.0, "negative_gamma": 0.5, "margin": 0.2}),
    ("asymmetric", {"margin": 0.0}),
    ("hill", {"steepness": 1.0, "margin": 0.5, "gamma": 0.3}),
    ("self_paced_correction", {"gamma": 0.7, "margin": 0.5, "threshold": 0.3}),
    ("class_balanced_focal", {"gamma": 1.5, "beta": 0.999}),
    ("rebalanced_focal", {"gamma": 0.5, "alpha": 0.4, "beta": 3.0, "mu": 0.2}),
    ("negative_tolerant", {"gamma": 1.0, **NEGATIVE_TOLERANT}),
    ("distribution_balanced", {"alpha": 0.4, "beta": 3.0, "mu": 0.2, **NEGATIVE_TOLERANT}),
    ("class_balanced_negative_tolerant", {"beta": 0.99, **NEGATIVE_TOLERANT}),
]


def make(name, **kwargs):
    return MultiLabelLoss.by_name(name)(**(COUNTED if needs_counts(name) else {}), **kwargs)


def needs_counts(name):
    return issubclass(MultiLabelLoss.by_name(name), CountedLoss)


def batch(dtype=torch.float64):
    """Scores, and gold labels with one of each kind: several positives, one, none, unknown ones."""
    scores = 3 * torch.randn(2, 4, 3, dtype=dtype)
    gold_labels = torch.tensor(
        [
            [[1, 0, 1], [0, 1, 0], [0, 0, 0], [1, -1, 0]],
            [[-1, 0, 1], [0, -1, 0], [-1, -1, -1], [1, 1, 1]],
        ]
    )
    return scores, gold_labels


@pytest.mark.parametrize(("name", "settings"), [each for each in SETTINGS if each[0] in FORMULAS])
def test_loss_is_the_formula_summed_over_known_labels(name, settings):
    scores, gold_labels = batch()
    formula = partial(FORMULAS[name], **settings)
    items = zip(scores.flatten(0, 1).tolist(), gold_labels.flatten(0, 1).tolist())
    expected = [
        sum(formula(z, y, i, ys) for i, (z, y) in enumerate(zip(zs, ys)) if y >= 0)
        for zs, ys in items
    ]
    actual = make(name, **settings)(scores, gold_labels).flatten()
    torch.testing.assert_close(actual, torch.tensor(expected).double(), rtol=1e-5, atol=1e-6)


def test_ranking_loss_is_the_formula_of_an_items_known_labels():
    scores, gold_labels = batch()
    items = zip(scores.flatten(0, 1).tolist(), gold_labels.flatten(0, 1).tolist())
    expected = [
        math.log(1 + sum(math.exp(-z) for z, y in zip(zs, ys) if y == 1))
        + math.log(1 + sum(math.exp(z) for z, y in zip(zs, ys) if y == 0))
        for zs, ys in items
    ]
    actual = make("zero_bounded_ranking")(scores, gold_labels).flatten()
    torch.testing.assert_close(actual, torch.tensor(expected).double())


@pytest.mark.parametrize(("name", "settings"), SETTINGS)
def test_gradients_are_those_of_finite_differences(name, settings):
    scores, gold_labels = batch()
    loss = make(name, **settings)
    assert torch.autograd.gradcheck(lambda s: loss(s, gold_labels), scores.requires_grad_())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("garbage", [1e4, math.nan, math.inf])
def test_scores_of_unknown_labels_and_masked_items_change_nothing(name, garbage):
    scores, gold_labels = batch()
    mask = torch.tensor([[True, True, True, True], [True, True, True, False]])
    ignored = (gold_labels < 0) | ~mask.unsqueeze(-1)
    dirty = scores.masked_fill(ignored, garbage).requires_grad_()
    loss = make(name)
    losses = loss(dirty, gold_labels, mask)
    losses.sum().backward()
    clean = scores.masked_fill(ignored, 0.0).requires_grad_()
    expected = loss(clean, gold_labels.masked_fill(~mask.unsqueeze(-1), -1))
    expected.sum().backward()
    assert torch.equal(losses, expected)
    assert torch.equal(dirty.grad, clean.grad)
    assert not dirty.grad[ignored].any()
    assert losses[1, 3] == losses[1, 2] == 0


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_without_a_known_label_has_loss_zero_and_a_gradient(name):
    scores = torch.randn(2, 4, 3, requires_grad=True)
    total = make(name)(scores, torch.full((2, 4, 3), -1)).sum()
    total.backward()
    assert total == 0
    assert not scores.grad.any()


@pytest.mark.parametrize("name", NAMES)
def test_items_are_those_of_any_leading_axes(name):
    scores, gold_labels = batch()
    loss = make(name)
    flat = loss(scores.view(8, 3), gold_labels.view(8, 3))
    assert torch.allclose(flat, loss(scores, gold_labels).view(8))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [100, 1e4])
def test_extreme_scores_stay_finite(name, size):
    _, gold_labels = batch()
    scores = (size * torch.randn(2, 4, 3).sign()).requires_grad_()
    losses = make(name)(scores, gold_labels)
    losses.sum().backward()
    assert losses.isfinite().all()
    assert scores.grad.isfinite().all()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_in_single(name, dtype):
    scores, gold_labels = batch(torch.float32)
    half = scores.to(dtype)
    losses = make(name)(half, gold_labels)
    assert losses.dtype == torch.float32
    assert torch.equal(losses, make(name)(half.float(), gold_labels))


@pytest.mark.parametrize("name", NAMES)
def test_arguments_are_left_as_they_were(name):
    scores, gold_labels = batch()
    before = scores.clone(), gold_labels.clone()
    make(name)(scores, gold_labels, torch.ones(2, 4, dtype=torch.bool))
    assert torch.equal(scores, before[0])
    assert torch.equal(gold_labels, before[1])


@pytest.mark.parametrize(
    ("name", "settings", "factor"),
    [
        ("focal", {"gamma": 0}, 1),
        ("focal", {"gamma": 0, "alpha": 0.5}, 0.5),
        ("asymmetric", {"positive_gamma": 0, "negative_gamma": 0, "margin": 0}, 1),
        ("class_balanced_focal", {"gamma": 0, "beta": 0}, 1),
        ("rebalanced_focal", {"gamma": 0, "alpha": 0.5, "beta": 0}, 1),
        ("negative_tolerant", {"gamma": 0, "kappa": 0, "negative_scale": 1}, 1),
    ],
)
def test_unit_settings_reduce_to_binary_cross_entropy(name, settings, factor):
    scores, gold_labels = batch()
    expected = factor * make("binary_cross_entropy")(scores, gold_labels)
    torch.testing.assert_close(make(name, **settings)(scores, gold_labels), expected)


# Probabilities of .95, .61 and .12, and of .59, .61 and .98.
CORRECTED_SCORES = torch.tensor([[3.0, 0.45, -2.0], [0.35, 0.45, 4.0]], dtype=torch.float64)
CORRECTED_LABELS = torch.tensor([[0, 1, 0], [0, 0, -1]])


def corrected(z, y, gamma=2.0, threshold=0.6, margin=1.0):
    return focal(z - margin if y else z, y or sigmoid(z) > threshold, gamma)


@pytest.mark.parametrize("settings", [{}, {"gamma": 0.7, "threshold": 0.2, "margin": 0.5}])
def test_after_the_warm_up_probable_negatives_are_taken_for_positives(settings):
    loss = make("self_paced_correction", warm_up_epochs=0, **settings)
    expected = [
        sum(corrected(z, y, **settings) for z, y in zip(zs, ys) if y >= 0)
        for zs, ys in zip(CORRECTED_SCORES.tolist(), CORRECTED_LABELS.tolist())
    ]
    losses = loss(CORRECTED_SCORES, CORRECTED_LABELS)
    torch.testing.assert_close(losses, torch.tensor(expected).double())
    scores = CORRECTED_SCORES.clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda s: loss(s, CORRECTED_LABELS), scores)
    loss(scores, CORRECTED_LABELS).sum().backward()
    # It raises the score of the label that was missed.
    assert scores.grad[0, 0] < 0 < scores.grad[0, 2]


def test_the_correction_begins_once_training_has_seen_as_many_items_as_there_are():
    settings = {"label_counts": [3, 2, 1], "num_items": 5, "warm_up_epochs": 2}
    name = "self_paced_correction"
    loss, again = (MultiLabelLoss.by_name(name)(**settings) for _ in range(2))
    before = focal(3.0, 0) + focal(0.45 - 1, 1) + focal(-2.0, 0)
    after = focal(3.0, 1) + focal(0.45 - 1, 1) + focal(-2.0, 0)
    labels = torch.cat([CORRECTED_LABELS, torch.full((2, 3), -1)])
    scores = torch.cat([CORRECTED_SCORES, torch.zeros(2, 3)])
    # Two items of the four count; a masked one and those without a known label do not.
    for _ in range(5):
        assert loss(scores, labels)[0].item() == pytest.approx(before)
        loss(scores[:1], labels[:1], torch.zeros(1).bool())
    again.load_state_dict(loss.state_dict())
    for each in (loss, again):
        # Evaluation is not corrected.
        assert each.eval()(scores, labels)[0].item() == pytest.approx(before)
        assert each.train()(scores, labels)[0].item() == pytest.approx(after)


def test_evaluation_does_not_count_as_training():
    loss = MultiLabelLoss.by_name("self_paced_correction")(label_counts=[1] * 3, num_items=2)
    for _ in range(3):
        loss.eval()(CORRECTED_SCORES, CORRECTED_LABELS)
    first, second = (loss.train()(CORRECTED_SCORES, CORRECTED_LABELS)[0] for _ in range(2))
    assert first != second


def test_with_one_label_an_item_distribution_balancing_weighs_all_positives_the_same():
    scores = torch.zeros(3, 3)
    gold_labels = torch.eye(3, dtype=torch.long)
    only_positives = torch.where(gold_labels > 0, gold_labels, -1)
    losses = make("rebalanced_focal")(scores, only_positives)
    assert losses.tolist() == pytest.approx([float(losses[0])] * 3)


@pytest.mark.parametrize("name", [name for name in NAMES if needs_counts(name)])
def test_labels_that_no_item_or_every_item_has_stay_finite(name):
    loss = MultiLabelLoss.by_name(name)(label_counts=[0, 5, 3], num_items=5)
    scores, gold_labels = batch()
    assert loss(scores, gold_labels).isfinite().all()


TRAINING_COUNTS = LabelCounts({"labels": {"A": 5001, "C": 1, "B": 7}}, {"labels": NUM_ITEMS})


def from_config(**params):
    return MultiLabelLoss.from_params(Params(params), vocab=vocabulary_of(["A", "B", "C"]))


@pytest.mark.parametrize("name", [name for name in NAMES if needs_counts(name)])
def test_counts_come_from_training_and_are_saved(name):
    scores, gold_labels = batch()
    loss, again = from_config(type=name), from_config(type=name)
    with pytest.raises(RuntimeError, match="the training labels have not been counted"):
        loss(scores, gold_labels)
    loss.counts.use_training_counts(TRAINING_COUNTS)
    expected = make(name)(scores, gold_labels)
    assert torch.equal(loss(scores, gold_labels), expected)
    again.load_state_dict(loss.half().state_dict())
    assert torch.equal(again(scores, gold_labels), expected)


def test_positive_weights_are_given_by_label():
    loss = from_config(type="binary_cross_entropy", positive_weights={"B": 3, "C": 0.5})
    losses = loss(torch.zeros(4, 3), torch.tensor([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]]))
    assert losses.tolist() == pytest.approx([n * math.log(2) for n in (3, 5, 2.5, 3)])


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("balanced", [5006 / 5001, 10_000 / 7, 10_006]),
        ("inverse_sqrt", [(5006 / 5001) ** 0.5, (10_000 / 7) ** 0.5, 10_006**0.5]),
    ],
)
def test_positive_weights_follow_from_counts_by_rule_and_are_saved(rule, expected):
    loss, again = (from_config(type="binary_cross_entropy", weight_rule=rule) for _ in range(2))
    with pytest.raises(RuntimeError, match="the training labels have not been counted"):
        loss(torch.zeros(1, 3), torch.ones(1, 3))
    loss.use_training_counts(TRAINING_COUNTS)
    again.load_state_dict(loss.state_dict())
    assert again.positive_weights.tolist() == pytest.approx(expected)
    assert again(torch.zeros(1, 3), torch.ones(1, 3)).isfinite()


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("focal", {"gamma": -1}, "`gamma` must be .* at least 0, 0 for no focal factor; got -1"),
        ("focal", {"alpha": 1.0}, "`alpha` must be above 0 and below 1; got 1.0"),
        ("asymmetric", {"negative_gamma": -1}, "`negative_gamma` must be .* at least 0.*; got -1"),
        ("asymmetric", {"margin": 1}, "`margin` must be at least 0 and below 1; got 1"),
        ("hill", {"steepness": 0.5}, "`steepness` must be at least 1; got 0.5"),
        ("hill", {"margin": -1}, "`margin` must be at least 0; got -1"),
        (
            "self_paced_correction",
            {"threshold": 1},
            "`threshold` must be above 0 and below 1; got 1",
        ),
        ("self_paced_correction", {"margin": -1}, "`margin` must be at least 0; got -1"),
        ("self_paced_correction", {"warm_up_epochs": -1}, "`warm_up_epochs` must be .*; got -1"),
        ("class_balanced_focal", {"beta": 1.0}, "`beta` must be at least 0.*; got 1.0"),
        ("rebalanced_focal", {"alpha": -0.1}, "`alpha` must be at least 0; got -0.1"),
        ("rebalanced_focal", {"beta": math.inf}, "`beta` must be at least 0"),
        ("distribution_balanced", {"mu": math.nan}, "`mu` must be a finite number"),
        ("negative_tolerant", {"kappa": -1}, "`kappa` must be at least 0"),
        ("negative_tolerant", {"negative_scale": 0}, "`negative_scale` must be above 0"),
        ("class_balanced_negative_tolerant", {"beta": -0.5}, "`beta` must be at least 0"),
    ],
)
def test_settings_out_of_range_are_refused(name, settings, message):
    with pytest.raises(ConfigurationError, match=message):
        make(name, **settings)


@pytest.mark.parametrize(
    "counts", [{}, {"label_counts": [1]}, {"label_counts": [3], "num_items": 2}]
)
def test_counts_that_cannot_be_are_refused(counts):
    with pytest.raises(ConfigurationError, match="`label_counts`, .* or else `vocab`; got"):
        MultiLabelLoss.by_name("class_balanced_focal")(**counts)


def test_training_data_without_labels_are_refused():
    loss = from_config(type="negative_tolerant")
    with pytest.raises(ValueError, match="training shows none of the labels A, B, C"):
        loss.counts.use_training_counts(LabelCounts())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"positive_weights": {"D": 2}}, "names `D`, which is no label of this vocabulary"),
        ({"positive_weights": {"A": 0}}, "`A` the weight 0; a weight must be a positive finite"),
        ({"positive_weights": {"A": 1}, "weight_rule": "balanced"}, "not both"),
    ],
)
def test_positive_weights_that_make_no_sense_are_refused(arguments, message):
    with pytest.raises(ConfigurationError, match=message):
        from_config(type="binary_cross_entropy", **arguments)


def test_positive_weights_need_a_vocabulary():
    with pytest.raises(ConfigurationError, match="need `vocab` to look labels up"):
        MultiLabelLoss.by_name("binary_cross_entropy")(positive_weights={"A": 2.0})


@pytest.mark.parametrize("shapes", [[(2, 3), (2, 4), (2,)], [(2, 3), (2, 3), (2, 3)]])
def test_shapes_that_do_not_fit_are_refused(shapes):
    scores, gold_labels, mask = (torch.ones(shape) for shape in shapes)
    with pytest.raises(ValueError, match="`scores` and `gold_labels` must have one shape"):
        make("focal")(scores, gold_labels, mask.bool())
