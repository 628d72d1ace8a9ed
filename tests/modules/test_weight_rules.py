import pytest
from allennlp.common import Params

from tagger.modules import WeightRule

RULES = ["balanced", "inverse_sqrt", {"type": "effective_number", "beta": 0.9999}]


def rule(config):
    return WeightRule.from_params(Params(dict(config)) if isinstance(config, dict) else config)


@pytest.mark.parametrize(
    ("config", "counts", "expected"),
    [
        # N = 10, K = 3
        ("balanced", [6, 3, 0, 1], [10 / 18, 10 / 9, 1, 10 / 3]),
        # 1/3 and 1, times 10 / (9/3 + 1)
        ("inverse_sqrt", [9, 0, 1], [2.5 / 3, 1, 2.5]),
        # effective numbers 1 + 1/2 + 1/4 and 1, so 4/7 and 1, times 4 / (12/7 + 1)
        ({"type": "effective_number", "beta": 0.5}, [3, 1, 0], [16 / 19, 28 / 19, 1]),
    ],
)
def test_weights_are_those_computed_by_hand(config, counts, expected):
    assert rule(config)(counts) == pytest.approx(expected)


@pytest.mark.parametrize("config", RULES)
def test_an_average_item_weighs_one_and_rarer_classes_weigh_more(config):
    counts = [170_000, 7_140, 1, 0, 345]
    weights = rule(config)(counts)
    assert sum(n * w for n, w in zip(counts, weights)) == pytest.approx(sum(counts))
    assert weights[0] < weights[1] < weights[4] < weights[2]
    assert weights[3] == 1


@pytest.mark.parametrize("config", RULES)
def test_equal_counts_give_unit_weights(config):
    assert rule(config)([7, 7, 0, 7]) == pytest.approx([1, 1, 1, 1])


@pytest.mark.parametrize(("beta", "like"), [(1e-9, [1, 1]), (1 - 1e-9, [10 / 18, 5])])
def test_effective_number_lies_between_equal_weights_and_balanced(beta, like):
    weights = rule({"type": "effective_number", "beta": beta})([9, 1])
    assert weights == pytest.approx(like, rel=1e-6)


@pytest.mark.parametrize("config", RULES)
@pytest.mark.parametrize("counts", [[], [0, 0], [3, -1]])
def test_counts_without_a_label_are_refused(config, counts):
    with pytest.raises(ValueError, match=r"`counts` must say .* check that the training data are"):
        rule(config)(counts)
