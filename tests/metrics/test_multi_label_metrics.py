import numpy as np
import pytest
import torch
from allennlp.common.checks import ConfigurationError
from sklearn.metrics import hamming_loss, precision_recall_fscore_support, roc_auc_score

from tagger.metrics import MultiLabelMetrics, format_metrics
from tagger.metrics.label_metrics import MEASURES
from tests.spans.tagged import vocabulary_of

LABELS = ["A", "B", "C", "D"]


def random_batch(seed, num_items=60, share_unknown=0.2):
    """Random probabilities, targets and a mask. D is never gold."""
    generator = torch.Generator().manual_seed(seed)
    targets = (torch.rand(num_items, 4, generator=generator) < 0.4).long()
    targets[:, 3] = 0
    scores = 2 * targets - 1 + 2 * torch.randn(num_items, 4, generator=generator)
    targets[torch.rand(num_items, 4, generator=generator) < share_unknown] = -1
    return torch.sigmoid(scores), targets, torch.rand(num_items, generator=generator) < 0.8


def metrics_of(probabilities, targets, mask=None, **kwargs):
    metric = MultiLabelMetrics(vocabulary_of(LABELS), **kwargs)
    metric(probabilities >= 0.5, targets, mask, probabilities)
    return metric.get_metric(reset=True)


def known(probabilities, targets, mask, label=slice(None)):
    """The flat gold targets and probabilities of all entries that count."""
    gold, probabilities = targets[mask][:, label], probabilities[mask][:, label]
    return gold[gold >= 0].numpy(), probabilities[gold >= 0].numpy()


def test_metrics_equal_those_of_scikit_learn():
    batch = random_batch(seed=1)
    actual = metrics_of(*batch)
    for label, name in enumerate([*LABELS, "overall"]):
        gold, probabilities = known(*batch, label if label < 4 else slice(None))
        *expected, _ = precision_recall_fscore_support(
            gold, probabilities >= 0.5, average="binary", zero_division=0
        )
        names = [f"{measure}-{name}" for measure in MEASURES]
        assert [actual[name] for name in names] == pytest.approx(expected)
    gold, probabilities = known(*batch)
    assert actual["hamming-loss"] == pytest.approx(hamming_loss(gold, probabilities >= 0.5))
    assert actual["num-labels-found"] == 3


def test_means_leave_out_labels_with_an_undefined_metric():
    # A is never predicted, D is never gold, and C is neither.
    probabilities, targets, mask = random_batch(seed=8)
    probabilities[:, 0] = probabilities[:, 2] = targets[:, 2] = 0
    targets = targets.clamp(min=0)
    metrics = metrics_of(probabilities, targets, mask, label_counts=[99, 99, 9, 1])
    for name, labels in {"macro": [0, 1, 2, 3], "head": [0, 1], "tail": [3]}.items():
        *expected, _ = precision_recall_fscore_support(
            targets[mask],
            probabilities[mask] >= 0.5,
            labels=labels,
            average="macro",
            zero_division=np.nan,
        )
        names = [f"{measure}-{name}" for measure in MEASURES]
        assert [metrics[each] for each in names] == pytest.approx(np.nan_to_num(expected))
    assert metrics["precision-head"] == metrics["precision-B"] > 0
    rows = [line.split() for line in format_metrics(metrics).splitlines()]
    head = next(row for row in rows if row[:1] == ["head"])
    num_gold = metrics["num-gold-A"] + metrics["num-gold-B"]
    assert head[1:] == [f"{metrics[each + '-head']:.4f}" for each in MEASURES] + [str(num_gold)]
    assert ["medium", "-", "-", "-", "0"] in rows
    assert ["tail", "0.0000", "-", "0.0000", "0"] in rows


def test_labels_that_are_never_found_are_a_group_and_items_count_by_their_number_of_labels():
    # Of A, B, C, D: A is found once, B is missed, C is invented, and D has six items.
    gold = torch.zeros(9, 4, dtype=torch.long)
    gold[0, 0] = gold[1, 0] = gold[1, 1] = 1
    gold[2:8, 3] = 1
    predicted = gold.clone()
    predicted[1] = torch.tensor([0, 0, 1, 0])
    predicted[8, 3] = 1
    metrics = metrics_of(predicted.float(), gold, label_counts=[50, 9, 9, 3])
    numbers = {name: value for name, value in metrics.items() if name.startswith("num-labels")}
    assert numbers == {
        **{"num-labels": 3, "num-labels-head": 1, "num-labels-medium": 1, "num-labels-tail": 1},
        **{"num-labels-found": 2, "num-labels-found-head": 1, "num-labels-found-medium": 0},
        **{"num-labels-found-tail": 1, "num-labels-zero": 1, "num-labels-found-zero": 0},
    }
    assert (metrics["num-gold-zero"], metrics["f1-measure-zero"]) == (1, 0)
    rows = [line.split() for line in format_metrics(metrics).splitlines()]
    assert [row for row in rows if len(row) == 3][::4] == [["all", "3", "2"], ["zero", "1", "0"]]
    assert ["zero", "-", "0.0000", "0.0000", "1"] in rows
    table = rows[rows.index("gold labels of an item items precision recall F1".split()) :]
    assert table[1:] == [
        ["0", "1", "0.0000", "-", "0.0000"],
        ["1", "7", "1.0000", "1.0000", "1.0000"],
        ["2", "1", "0.0000", "0.0000", "0.0000"],
    ]
    everything = torch.ones(3, 4, dtype=torch.long)
    several = MultiLabelMetrics(vocabulary_of([*LABELS, "E", "F"]))
    several(torch.ones(3, 6), torch.ones(3, 6))
    assert several.get_metric()["by-number-num-items-5+"] == 3
    assert metrics_of(everything.float(), everything)["by-number-num-items-4"] == 3


def test_the_auc_equals_scikit_learns_up_to_its_bins():
    batch = random_batch(seed=2, num_items=3_000)
    actual = metrics_of(*batch)
    expected = [roc_auc_score(*known(*batch, label)) for label in range(3)]
    assert [actual[f"auc-{label}"] for label in "ABC"] == pytest.approx(expected, abs=1e-3)
    assert actual["auc-macro"] == pytest.approx(np.mean(expected), abs=1e-3)
    # D has no positives.
    assert "auc-D" not in actual


def test_the_auc_counts_ties_half_and_accepts_probabilities_of_0_and_1():
    probabilities, targets, mask = random_batch(seed=3)
    coarse = (probabilities * 4).round() / 4
    actual = metrics_of(coarse, targets, mask)
    for label, name in enumerate("ABC"):
        expected = roc_auc_score(*known(coarse, targets, mask, label))
        assert actual[f"auc-{name}"] == pytest.approx(expected)


def test_the_auc_needs_probabilities_and_is_computed_at_the_end_of_a_pass(monkeypatch):
    probabilities, targets, mask = random_batch(seed=4)
    metric = MultiLabelMetrics(vocabulary_of(LABELS))
    metric(probabilities >= 0.5, targets, mask)
    assert not any(name.startswith("auc") for name in metric.get_metric(reset=True))
    metric(probabilities >= 0.5, targets, mask, probabilities)
    with monkeypatch.context() as patch:
        patch.setattr("tagger.metrics.multi_label_metrics.area_under_curve", None)
        before = metric.get_metric()
    after = metric.get_metric(reset=True)
    assert set(after) - set(before) == {"auc-A", "auc-B", "auc-C", "auc-macro"}
    assert {name: after[name] for name in before} == before


def test_predictions_at_unknown_labels_and_padding_change_nothing():
    probabilities, targets, mask = random_batch(seed=5)
    ignored = (targets < 0) | ~mask[:, None]
    expected = metrics_of(probabilities, targets, mask)
    for garbage in (0.0, 1.0, torch.nan):
        assert metrics_of(probabilities.masked_fill(ignored, garbage), targets, mask) == expected
    padded = torch.cat([targets[mask], torch.full((5, 4), -1)])
    longer = torch.cat([probabilities[mask], torch.ones(5, 4)])
    assert metrics_of(longer, padded) == expected
    assert set(metrics_of(torch.rand(0, 4), torch.ones(0, 4)).values()) == {0}


def test_any_leading_axes_hold_items_and_batches_add_up_until_reset():
    probabilities, targets, mask = random_batch(seed=6)
    metric = MultiLabelMetrics(vocabulary_of(LABELS))
    for part in range(3):
        some = slice(20 * part, 20 * part + 20)
        p, y, m = probabilities[some], targets[some], mask[some]
        metric(p.view(4, 5, 4) >= 0.5, y.view(4, 5, 4), m.view(4, 5), p.view(4, 5, 4))
        metric.get_metric()
    expected = metrics_of(probabilities, targets, mask)
    assert metric.get_metric(reset=True) == expected
    assert set(metric.get_metric().values()) == {0}


def test_groups_are_means_over_labels_grouped_by_training_counts():
    batch = random_batch(seed=7)
    metrics = metrics_of(*batch, label_counts=[35, 9, 8, 34])
    # D is predicted somewhere and so has an F1 of 0.
    expected = {"head": "A", "medium": "BD", "tail": "C"}
    for group, labels in expected.items():
        for measure in MEASURES:
            # D has no recall because it is never gold.
            defined = labels.replace("D", "") if measure == "recall" else labels
            mean = np.mean([metrics[f"{measure}-{label}"] for label in defined])
            assert metrics[f"{measure}-{group}"] == pytest.approx(mean)
    assert "f1-measure-head" not in metrics_of(*batch)
    other = metrics_of(*batch, label_counts=[35, 9, 8, 34], least_head_count=9, most_tail_count=0)
    assert other["f1-measure-tail"] == 0
    assert other["f1-measure-head"] == pytest.approx(
        np.mean([metrics[f"f1-measure-{label}"] for label in "ABD"])
    )


@pytest.mark.parametrize("shape", [(5, 3), (6, 4), (5,)])
def test_other_shapes_are_refused(shape):
    metric = MultiLabelMetrics(vocabulary_of(LABELS))
    with pytest.raises(ValueError, match="must have one shape"):
        metric(torch.ones(shape), torch.ones(shape), torch.ones(5) > 0)


def test_groups_may_be_quantiles_of_the_training_counts():
    batch = random_batch(seed=5)
    # The quantiles of 3, 20, 40 and 100 are 11.5 and 55 (at 1/6 and 3/4), so B is alone in the tail.
    by_quantile = metrics_of(*batch, label_counts=[40, 3, 20, 100], group_quantiles=[1 / 6, 3 / 4])
    for group, label in {"tail": "B", "head": "D"}.items():
        names = [f"{each}-{group}" for each in ("f1-measure", "num-gold", "num-predicted")]
        labels = [f"{each}-{label}" for each in ("f1-measure", "num-gold", "num-predicted")]
        assert [by_quantile[name] for name in names] == [by_quantile[name] for name in labels]
    assert by_quantile["num-labels-medium"] == 2
    for wrong in ([0.7, 0.3], [-0.1, 0.5], [0.5, 1.5]):
        with pytest.raises(ConfigurationError, match="must be two ascending shares from 0 to 1"):
            metrics_of(*batch, group_quantiles=wrong)
