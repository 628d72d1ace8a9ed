from itertools import product

import pytest
import torch
from allennlp.common.checks import ConfigurationError

from tagger.training.thresholds import tune_common_threshold, tune_thresholds

N, C = 12, 3


def random_items(seed, num_values=7):
    """Probabilities with many ties, and targets of which some are unknown; each label has a positive."""
    generator = torch.Generator().manual_seed(seed)
    probabilities = torch.randint(0, num_values + 1, (N, C), generator=generator) / num_values
    targets = torch.randint(-1, 2, (N, C), generator=generator)
    targets[0] = 1
    return probabilities, targets


def counts_at(thresholds, probabilities, targets):
    """True positives, predicted and gold items of each label, in plain Python."""
    return [
        (
            sum(p >= t and y == 1 for p, y in zip(ps, ys)),
            sum(p >= t and y >= 0 for p, y in zip(ps, ys)),
            sum(y == 1 for y in ys),
        )
        for t, ps, ys in zip(thresholds, probabilities.T.tolist(), targets.T.tolist())
    ]


def f1(true_positives, num_predicted, num_gold):
    return 2 * true_positives / (num_predicted + num_gold)


def micro_f1(counts):
    return f1(*map(sum, zip(*counts)))


def thresholds_of(probabilities):
    """For each label thresholds that part its observed values in every way."""
    return [[-1.0, *(value + 1e-4 for value in ps)] for ps in probabilities.T.tolist()]


@pytest.mark.parametrize("seed", range(8))
def test_micro_f1_is_the_best_of_all_combinations_of_thresholds(seed):
    probabilities, targets = random_items(seed, num_values=5)
    tuned = tune_thresholds(probabilities, targets, "micro").tolist()
    every = product(*(sorted(set(of_label)) for of_label in thresholds_of(probabilities)))
    best = max(micro_f1(counts_at(thresholds, probabilities, targets)) for thresholds in every)
    assert micro_f1(counts_at(tuned, probabilities, targets)) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_each_label_is_tuned_to_the_best_f1_precision_and_recall(seed):
    probabilities, targets = random_items(seed)

    def best(target, gain):
        tuned = tune_thresholds(probabilities, targets, target).tolist()
        actual = counts_at(tuned, probabilities, targets)
        # (number of thresholds, C)
        every = [counts_at(t, probabilities, targets) for t in zip(*thresholds_of(probabilities))]
        expected = [max(gain(*counts) for counts in of_label) for of_label in zip(*every)]
        assert [gain(*counts) for counts in actual] == pytest.approx(expected)

    best("macro", f1)
    # Where it is in reach the highest recall, else the highest precision.
    best(
        {"precision": 0.6},
        lambda tp, predicted, gold: tp if tp >= 0.6 * predicted > 0 else tp / max(predicted, 1) - 1,
    )
    best({"recall": 0.6}, lambda tp, predicted, gold: -predicted if tp >= 0.6 * gold else -N - 1)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("target", ["micro", "macro"])
def test_a_common_threshold_is_the_best_of_all_that_are_the_same_for_every_label(target, seed):
    probabilities, targets = random_items(seed)

    def gain(threshold):
        counts = counts_at([threshold] * C, probabilities, targets)
        return micro_f1(counts) if target == "micro" else sum(f1(*each) for each in counts) / C

    tuned = tune_common_threshold(probabilities, targets, target).tolist()
    assert len(tuned) == C
    assert len(set(tuned)) == 1
    every = {threshold for of_label in thresholds_of(probabilities) for threshold in of_label}
    assert gain(tuned[0]) == pytest.approx(max(map(gain, every)), abs=1e-12)
    dirty = probabilities.masked_fill(targets < 0, torch.nan)
    assert tune_common_threshold(dirty, targets, target).tolist() == tuned


def test_a_common_threshold_serves_rare_labels_as_well_for_macro_f1_alone():
    probabilities = torch.tensor([[0.9, 0.1]] * 10 + [[0.3, 0.25]] + [[0.3, 0.1]] * 9)
    targets = torch.tensor([[1, 0]] * 10 + [[0, 1]] + [[0, 0]] * 9)
    tuned = {
        target: tune_common_threshold(probabilities, targets, target).tolist()
        for target in ("micro", "macro")
    }
    assert tuned["micro"] == pytest.approx([0.6, 0.6])
    assert tuned["macro"] == pytest.approx([0.175, 0.175])


@pytest.mark.parametrize("tune", [tune_common_threshold, tune_thresholds])
def test_a_threshold_of_no_positives_is_the_default(tune):
    for items in (torch.empty(0, 2), torch.rand(3, 2)):
        tuned = tune(items, torch.zeros_like(items), default=0.4)
        assert tuned.tolist() == pytest.approx([0.4, 0.4])


@pytest.mark.parametrize("target", ["micro", "macro", {"precision": 0.5}, {"recall": 1.0}])
def test_unknown_targets_never_count_whatever_their_probability(target):
    probabilities, targets = random_items(seed=3)
    dirty = probabilities.masked_fill(targets < 0, torch.nan)
    expected = tune_thresholds(probabilities, targets, target)
    assert torch.equal(tune_thresholds(dirty, targets, target), expected)


def test_a_label_without_a_positive_keeps_the_default_and_its_predictions_count():
    probabilities = torch.tensor([[0.9, 0.8], [0.6, 0.7], [0.3, 0.1]])
    targets = torch.tensor([[1, 0], [0, 0], [0, -1]])
    for target in ("micro", "macro", {"precision": 0.9}, {"recall": 0.9}):
        tuned = tune_thresholds(probabilities, targets, target, default=0.4)
        assert tuned.tolist() == pytest.approx([0.75, 0.4])


def test_thresholds_part_neighbouring_numbers_and_certain_ones():
    low = torch.tensor(0.3)
    high = torch.nextafter(low, torch.tensor(1.0))
    for good, bad in ((high, low), (torch.tensor(1.0), torch.tensor(0.0))):
        (threshold,) = tune_thresholds(torch.stack([good, bad])[:, None], torch.tensor([[1], [0]]))
        assert bad < threshold <= good


def test_a_label_with_too_few_positives_keeps_the_default_and_its_predictions_count():
    # At the default the other label is right once and wrong four times.
    others = torch.tensor([0.7, 0.7, 0.7, 0.65, 0.6])
    probabilities = torch.stack([torch.tensor([0.9, 0.8, 0.7, 0.6, 0.5]), others], 1)
    targets = torch.tensor([[1, 0], [0, 0], [0, 0], [0, 1], [1, 0]])
    best = {}
    for threshold in (0.25, 0.85):
        predicted = probabilities >= torch.tensor([threshold, 0.5])
        right = (predicted & (targets == 1)).sum()
        best[2 * right / (predicted.sum() + targets.sum())] = threshold
    for target, threshold in (("micro", best[max(best)]), ("macro", 0.85)):
        tuned = tune_thresholds(probabilities, targets, target, least_positives=2)
        assert tuned.tolist() == pytest.approx([threshold, 0.5])
        assert tune_thresholds(probabilities, targets, target)[1] != 0.5


@pytest.mark.parametrize("target", ["f1", {}, {"precision": 0}, {"recall": 1.1}, {"f1": 0.5}])
def test_other_targets_and_shapes_are_refused(target):
    with pytest.raises(ConfigurationError, match="`target` must be 'micro', 'macro'"):
        tune_thresholds(torch.rand(2, 2), torch.ones(2, 2), target)
    with pytest.raises(ConfigurationError, match="`common` needs the `target` 'micro' or 'macro'"):
        tune_common_threshold(torch.rand(2, 2), torch.ones(2, 2), target)
    with pytest.raises(ValueError, match=r"one shape \(N, C\); got \(2, 3\) and \(2, 2\)"):
        tune_thresholds(torch.rand(2, 3), torch.ones(2, 2))


def test_a_label_of_which_every_prediction_does_harm_is_never_predicted():
    probabilities = torch.tensor([[0.9, 1.0]] * 9 + [[0.9, 0.5]])
    targets = torch.tensor([[1, 0]] * 9 + [[1, 1]])
    assert tune_thresholds(probabilities, targets, "micro")[1] > 1
