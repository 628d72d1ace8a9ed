import numpy as np
import pytest
import torch
from allennlp.common import FromParams, Params
from allennlp.common.checks import ConfigurationError

from tagger.common.training_counts import LabelCounts
from tagger.modules import WeightRule
from tagger.modules.class_weights import ClassWeights, class_weights_by_label
from tagger.modules.weight_rules import BalancedWeightRule
from tests.spans.tagged import vocabulary_of


class RequiredWeights(ClassWeights, FromParams):
    """Class weights that can be built from a config."""


class OptionalWeights(ClassWeights):
    _weights_are_required = False


@pytest.fixture
def vocab():
    return vocabulary_of(["O", "B-PER", "I-PER", "B-LOC", "I-LOC"])


def by_rule(vocab):
    return RequiredWeights(weight_rule=BalancedWeightRule(), vocab=vocab)


def test_without_optional_weights_all_weigh_one_and_nothing_is_saved():
    weights = OptionalWeights()
    weights.check_weights()
    weights.use_training_counts(LabelCounts({"labels": {"O": 3}}))
    gold_tags, mask = torch.tensor([[1, -1]]), torch.tensor([[True, True]])
    assert weights.token_weights(gold_tags, mask).tolist() == [[1, 1]]
    assert not weights.state_dict()


def test_a_tags_weight_overrides_its_labels_and_others_weigh_one(vocab):
    params = Params({"label_weights": {"LOC": 2, "B-LOC": 3, "O": 0.5}})
    weights = RequiredWeights.from_params(params, vocab=vocab)
    assert weights.tag_weights.tolist() == [0.5, 1, 1, 3, 2]


def test_plain_labels_are_weighted_directly():
    assert class_weights_by_label({"NOUN": 2.0}, ["VERB", "NOUN"]) == [1.0, 2.0]
    with pytest.raises(ConfigurationError, match="names `NUON`.*; did you mean `NOUN`"):
        class_weights_by_label({"NUON": 2.0}, ["VERB", "NOUN"])


def test_a_rule_uses_the_counts_of_the_tags_namespace(vocab, caplog):
    weights = by_rule(vocab)
    buffer = weights.tag_weights
    counts = {"labels": {"O": 30, "B-LOC": 2, "B-PER": 8}, "others": {"O": 1, "I-PER": 1}}
    with caplog.at_level("INFO"):
        weights.use_training_counts(LabelCounts(counts))
    # N = 40, K = 3. Tags without a count weigh 1.
    expected = torch.tensor([40 / 90, 40 / 24, 1, 40 / 6, 1])
    torch.testing.assert_close(weights.tag_weights, expected)
    # `DistributedDataParallel` holds on to the tensors it has seen.
    assert weights.tag_weights is buffer
    assert ["B-PER", "8", "1.6667"] in [line.split() for line in caplog.text.splitlines()]


BY_COUNTS = {"weight_rule": BalancedWeightRule(), "tag_counts": [6, 3, 0, 0, 0]}


@pytest.mark.parametrize(
    ("given", "expected"),
    [(BY_COUNTS, [0.75, 1.5, 1, 1, 1]), ({"label_weights": {"PER": 2.0}}, [1, 2, 2, 1, 1])],
)
def test_given_weights_and_counts_are_kept_whatever_the_training_data(given, expected, vocab):
    weights = RequiredWeights(**given, vocab=vocab)
    assert weights.tag_weights.tolist() == expected
    weights.use_training_counts(LabelCounts({"labels": {"O": 30, "B-PER": 8}}))
    assert weights.tag_weights.tolist() == expected


def test_a_rule_without_counts_is_an_error_until_weights_are_loaded(vocab):
    weights, other = by_rule(vocab), by_rule(vocab)
    assert weights.tag_weights.isnan().all()
    with pytest.raises(RuntimeError, match=r"call `tagger.training.supply_training_counts\(model"):
        weights.check_weights()
    other.use_training_counts(LabelCounts({"labels": {"O": 30, "B-LOC": 2}}))
    weights.load_state_dict(other.state_dict())
    weights.check_weights()
    assert torch.equal(weights.tag_weights, other.tag_weights)


def test_training_data_without_any_of_the_tags_are_refused(vocab):
    with pytest.raises(
        ValueError, match="training data have none of the labels O, B-PER, .* `labels`"
    ):
        by_rule(vocab).use_training_counts(LabelCounts({"others": {"O": 30}}))


def test_known_weights_are_not_checked_in_every_step(vocab, monkeypatch):
    weights = by_rule(vocab)
    weights.use_training_counts(LabelCounts({"labels": {"O": 30}}))
    weights.check_weights()
    monkeypatch.setattr(torch.Tensor, "all", None)
    weights.check_weights()


@pytest.mark.parametrize("convert", [torch.tensor, np.array])
def test_weights_may_be_an_array(convert):
    assert ClassWeights(tag_weights=convert([1.0, 2.0])).tag_weights.tolist() == [1, 2]
    with pytest.raises(ConfigurationError, match="gives `1` the weight 0.0"):
        ClassWeights(tag_weights=convert([1.0, 0.0]))


RULES = ["balanced", "inverse_sqrt", {"type": "effective_number", "beta": 0.9999}]


def rule(config):
    return WeightRule.from_params(Params(dict(config)) if isinstance(config, dict) else config)


@pytest.mark.parametrize(
    ("config", "counts", "expected"),
    [
        # N = 10, K = 3.
        ("balanced", [6, 3, 0, 1], [10 / 18, 10 / 9, 1, 10 / 3]),
        # 1/3 and 1, times 10 / (9/3 + 1).
        ("inverse_sqrt", [9, 0, 1], [2.5 / 3, 1, 2.5]),
        # Effective numbers 1 + 1/2 + 1/4 and 1, so 4/7 and 1, times 4 / (12/7 + 1).
        ({"type": "effective_number", "beta": 0.5}, [3, 1, 0], [16 / 19, 28 / 19, 1]),
    ],
)
def test_weights_equal_those_computed_by_hand(config, counts, expected):
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
