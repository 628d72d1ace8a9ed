import re

import numpy as np
import pytest
from mapie.risk_control import BinaryClassificationController
from scipy import stats

from tagger.tools.tuning.goals import OF_MASKS, Goal
from tagger.tools.tuning.groups import Groups
from tagger.tools.tuning.promise_search import Choice, Search, TriedSettings
from tagger.tools.tuning.promise_tests import p_values, rejected
from tagger.tools.tuning.promises import evidence_of

DRAWS = 2_000
#: Three standard errors more than a twentieth.
MOST = 0.05 + 3 * np.sqrt(0.05 * 0.95 / DRAWS)


def beta_documents(rng, shape, share, spread, sizes):
    """Items of documents. Each has a different share of correct items, so errors cluster."""
    shares = rng.beta(share * spread, (1 - share) * spread, shape)
    return rng.binomial(sizes, shares), sizes


def independent(rng, shape, share):
    return beta_documents(rng, shape, share, 1e6, rng.geometric(0.25, shape))


def clustered(rng, shape, share):
    return beta_documents(rng, shape, share, 1, rng.geometric(0.25, shape))


def heavy(rng, shape, share):
    sizes = np.ceil(3 * rng.pareto(2, shape)).clip(1, 200).astype(int)
    return beta_documents(rng, shape, share, 5, sizes)


def whole(rng, shape, share):
    """Documents of which all is right or all is wrong."""
    sizes = rng.geometric(0.25, shape)
    return sizes * (rng.random(shape) < share), sizes


@pytest.mark.parametrize("documents", [independent, clustered, heavy, whole])
@pytest.mark.parametrize(("num_groups", "share"), [(30, 0.8), (60, 0.9), (200, 0.97)])
def test_a_true_hypothesis_is_rejected_as_rarely_as_stated(documents, num_groups, share):
    rng = np.random.default_rng(7)
    right, total = documents(rng, (DRAWS, num_groups), share)
    assert np.mean(p_values(right, total, share) <= 0.05) <= MOST


def test_draws_are_repeated_units():
    rng = np.random.default_rng(3)
    right, total = clustered(rng, (2, 40), 0.9)
    draw = rng.multinomial(40, np.full(40, 1 / 40), 3)
    repeated = [
        p_values(np.repeat(right, each, 1), np.repeat(total, each, 1), 0.85) for each in draw
    ]
    np.testing.assert_allclose(p_values(right, total, 0.85, draw), repeated)


@pytest.mark.parametrize("num_wrong", [0, 3])
def test_single_items_are_tested_exactly(num_wrong):
    total = np.ones((1, 60), int)
    right = total * (np.arange(60) >= num_wrong)
    assert p_values(right, total, 0.9)[0] == pytest.approx(stats.binom.cdf(num_wrong, 60, 0.1))
    assert p_values(0 * right, total, 0.9)[0] == p_values(right[:, :1], total[:, :1], 0.9)[0] == 1


@pytest.mark.parametrize("num_items", [400, 2_000])
def test_single_items_are_promised_what_mapie_controls(num_items):
    rng = np.random.default_rng(0)
    scores = rng.random(num_items)
    truth, thresholds = rng.random(num_items) < scores, np.linspace(0.99, 0, 100)
    controller = BinaryClassificationController(
        lambda items: np.hstack([1 - items, items]),
        "precision",
        0.65,
        confidence_level=0.9,
        list_predict_params=thresholds,
    )
    controller.calibrate(scores[:, np.newaxis], truth)
    total = scores >= thresholds[:, np.newaxis]
    own, others = p_values(total & truth, total, 0.65), controller.p_values[:, 0]
    # It rounds the number of wrong items up, after a division that may leave it a bit too large.
    one_more = stats.binom.cdf((total & ~truth).sum(1) + 1, total.sum(1), 0.35)
    assert (own <= others + 1e-9).all()
    assert (others <= one_more + 1e-9).all()
    assert np.isclose(own, others, rtol=1e-6).mean() > 0.5


def test_items_that_err_together_say_less():
    total = np.full((2, 100), 10)
    right = total.copy()
    right[0, :30] = 9
    right[1, :3] = 0
    apart, together = p_values(right, total, 0.95)
    assert apart < 0.02 < together
    # Without errors, a unit counts as one item.
    assert p_values(total, total, 0.95)[0] == pytest.approx(0.95**100)


def test_promises_for_few_new_units_allow_for_chance_among_them():
    rng = np.random.default_rng(5)
    shape, level = (DRAWS, 100), 0.9
    for share in (0.9, 0.93):
        right, total = clustered(rng, shape, share)
        p = p_values(right, total, level, for_next=50)
        new_right, new_total = clustered(rng, (DRAWS, 50), share)
        is_missed = new_right.sum(1) < level * new_total.sum(1)
        assert np.mean((p <= 0.05) & is_missed) <= MOST
        assert (p >= p_values(right, total, level) - 1e-12)[p < 0.5].all()
    # Exact for single items: the hypergeometric tail of what is wrong in both.
    total = np.ones((1, 60), int)
    right = total * (np.arange(60) >= 2)
    exact = stats.hypergeom.cdf(2, 60 + 40, 2 + 4, 60)
    assert p_values(right, total, 0.9, for_next=40)[0] == pytest.approx(exact, rel=0.1)


def test_the_sequence_stops_at_a_failure_and_each_start_has_its_part():
    def last(p, starts):
        return np.flatnonzero(rejected(np.array(p), starts, 0.05))[-1:].tolist()

    assert last([0.01, 0.04, 0.06, 0.0], [0]) == [1]
    # The first start fails, so the second has half of the error only.
    assert last([0.5, 0.02, 0.03], [0, 1]) == [1]
    assert last([0.02, 0.04], [0, 1]) == [1]
    assert last([0.5, 0.03], [0, 1]) == []


@pytest.mark.parametrize("documents", [clustered, heavy, whole])
@pytest.mark.parametrize(("num_groups", "share"), [(15, 0.78), (60, 0.9)])
def test_a_promise_is_broken_as_rarely_as_stated(documents, num_groups, share):
    """No setting keeps the goal by more than a hair, and stricter ones keep a part of the items."""
    rng, num_draws, num_broken = np.random.default_rng(7), 300, 0
    for _ in range(num_draws):
        right, total = documents(rng, (num_groups,), share)
        settings = [(right, total - right)]
        for kept in (0.7, 0.7, 0.5):
            settings.insert(0, tuple(rng.binomial(each, kept) for each in settings[0]))
        right = np.array([each[0] for each in settings])
        total = right + np.array([each[1] for each in settings])
        nested = tried(right, share)._replace(total=total[np.newaxis], starts=[0, 0, 1, 1, 3])
        num_broken += nested.chosen(0.05) >= 0
    assert num_broken / num_draws <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / num_draws)


def test_a_setting_that_could_never_pass_hands_its_error_on():
    right = np.zeros((2, 60), int)
    right[0, :3] = right[1] = 1
    two = tried(right, 0.9)._replace(total=right[np.newaxis])
    assert two.p_values()[0, 0] > 0.05
    assert two.chosen(0.05) == 1
    # The first one could have passed, and did not.
    right[0, :50] = 1
    total = right.copy()
    right[0, :20] = 0
    assert two._replace(right=right[np.newaxis], total=total[np.newaxis]).chosen(0.05) == -1


def test_what_a_threshold_costs_is_said():
    total = np.ones((2, 100), int)
    right = total.copy()
    right[1, :5], right[0, :20], total[0, :20] = 0, 0, 0
    two = tried(right, 0.9)._replace(total=total[np.newaxis], starts=[0, 1], unchanged=1)
    search, groups = Search([[two]], 0.05), Groups("sentence", np.arange(100))
    (choice,) = search.choose()
    assert choice.at == 0
    said = evidence_of(choice, search, groups, num_gold=120)
    exact = stats.beta.ppf(0.05, 95, 6)
    assert said.startswith(
        "PER: as the tagger is, 95 of the 100 entities that it predicts are right; by themselves, they "
        f"show a precision of at least {exact:.4f} with 95 % confidence. "
    )
    assert (
        "the 20 least probable entities are dropped, and recall falls from 0.7917 to 0.6667" in said
    )
    target, confidence, more = re.search(
        r"All could stay for a target of (0\.\d+), or with --confidence (0\.\d+), or with about (\d+) "
        r"more sentences like these$",
        said,
    ).groups()
    easier = two._replace(goals=(two.goals[0].at_least(float(target)),))
    assert easier.chosen(0.05) == two.chosen(1 - float(confidence)) == 1
    assert two.chosen(0.05, repeats=1 + int(more) // 100) == 1
    said = evidence_of(Choice(easier, 1), search, groups, num_gold=120)
    assert said.endswith("with 95 % confidence; its settings stay as they are")


def tried(right, level=0.95, measure="precision"):
    goal = Goal(("PER",), measure, level)
    right = np.array(right)[np.newaxis]
    return TriedSettings((goal,), [{}] * right.shape[1], right, np.ones_like(right), [0])


def test_what_the_data_support_and_how_many_would_do():
    right = np.ones((1, 100), int)
    right[0, :3] = 0
    search = Search([[tried(right)]], 0.05)
    assert search.choose() is None
    (best,) = search.best_goals()
    assert Search([[tried(right, best.level)]], 0.05).choose() is not None
    assert Search([[tried(right, best.level + 0.001)]], 0.05).choose() is None
    needed = search.repeats_needed()
    assert Search([[tried(np.tile(right, needed))]], 0.05).choose() is not None
    assert Search([[tried(np.tile(right, needed - 1))]], 0.05).choose() is None
    assert Search([[tried(right, 0.98)]], 0.05).repeats_needed() is None
    assert Search([[tried(0 * right)]], 0.05).best_goals() is None
    (leaks,) = Search([[tried(right, 0.05, "leak")]], 0.05).best_goals()
    assert 0.05 < leaks.level < 0.1


def test_goals_tried_together_must_all_pass_and_trials_share_the_error():
    some, most = np.ones((1, 80), int), np.ones((1, 80), int)
    some[0, :1] = 0
    both = tried(some)._replace(goals=(Goal(("PER",), "precision", 0.9),) * 2)
    right = np.stack([some, most])
    both = both._replace(right=right, total=np.ones_like(right))
    single = p_values(some, most, 0.9)[0]
    assert both.p_values()[0, 0] == single
    assert Search([[both]], single).choose() is not None
    assert Search([[both, both]], 1.9 * single).choose() is None
    assert Search([[both], [both]], 1.9 * single).choose() is None
    assert Search([[both, both]], 2.1 * single).choose() is not None


@pytest.mark.parametrize(
    ("goal", "right", "total"),
    [
        (Goal(("A",), "precision", 0.9), [2, 0], [3, 1]),
        (Goal(("A",), "recall", 0.9), [2, 0], [2, 4]),
        (Goal(("A",), "f_beta", 0.9, 2.0), [10, 0], [11, 17]),
        (Goal(("A", "B"), "leak", 0.1), [1, 0], [1, 1]),
        (Goal(("A", "B"), "unmasked", 0.1), [1, 0], [1, 1]),
        (Goal(("B",), "unmasked", 0.1), [1, 1], [1, 1]),
        (Goal(("A", "B"), "masked", 0.9), [3, 1], [3, 5]),
    ],
)
def test_shares_of_units(goal, right, total):
    # True positives, predicted and gold entities of two labels in two groups.
    by_group = np.array([[[2, 0], [1, 1]], [[3, 1], [1, 2]], [[2, 4], [1, 1]]])
    if goal.measure in OF_MASKS:
        by_group = by_group[[0, 2]]
    counted = goal.counts(by_group, ["A", "B"])
    assert [each.tolist() for each in counted] == [right, total]
    assert goal.at_least(goal.least).level == pytest.approx(goal.level)
