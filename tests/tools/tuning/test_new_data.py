"""What texts without gold tags say: whether they are of another kind, and how well they are tagged."""

import numpy as np
import pytest
import torch

from tagger.modules.recalibration import corrected_log_odds
from tagger.tools.tuning import estimates
from tagger.tools.tuning.data_comparison import compare_samples
from tagger.tools.tuning.estimates import (
    Correction,
    estimate,
    estimate_corrected,
    fit_recalibration,
    fitted_correction,
    true_measures,
)
from tagger.tools.tuning.features import CandidateSpans, SentenceFeatures
from tagger.tools.tuning.groups import Groups

TRUE = np.array([[0.5, 0.4, -0.5], [0.8, 0.6, 0.3]])


def corrected(probabilities, labels):
    numbers = map(torch.from_numpy, (probabilities, TRUE[labels]))
    return corrected_log_odds(*numbers).sigmoid().numpy()


def entities(rng, number):
    labels = rng.integers(0, 2, number)
    probabilities = rng.beta(2, 0.5, number)
    return probabilities, rng.random(number) < corrected(probabilities, labels), labels


def test_many_entities_teach_the_true_map_and_few_little():
    rng = np.random.default_rng(0)
    many = fit_recalibration(*entities(rng, 100_000), 2)
    np.testing.assert_allclose(many, TRUE, atol=0.05)
    # What counts twice is as what is there twice.
    few = entities(rng, 200)
    twice = [np.concatenate([each, each]) for each in few]
    weighted = fit_recalibration(*few, 2, np.full(200, 2))
    np.testing.assert_allclose(weighted, fit_recalibration(*twice, 2), atol=1e-3)
    none = fit_recalibration(*(each[:0] for each in few), 2)
    np.testing.assert_allclose(none, [[1, 1, 0], [1, 1, 0]])
    # A label without entities learns from the other.
    of_one = few[2] == 0
    alone = fit_recalibration(*(each[of_one] for each in few), 2)
    assert 0 < alone[1, 0] < 1
    assert (alone[:, :2] > 0).all()


def test_texts_of_one_source_differ_as_rarely_as_the_level_says():
    rng = np.random.default_rng(0)
    p_values = []
    for _ in range(400):
        # Skewed features that go together, and few new texts
        table = rng.exponential(size=(40, 1)) + rng.exponential(size=(40, 3))
        p_values.append(compare_samples(table[5:], table[:5], 99).p_value)
    for level in (0.05, 0.2):
        # three standard deviations
        most = level + 3 * (level * (1 - level) / 400) ** 0.5
        assert level / 3 < np.mean(np.array(p_values) <= level) <= most


def test_what_differs_is_found_and_named():
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(60, 4)), rng.normal(size=(30, 4))
    second[:, 2] += 2
    first[:, 3] = second[:, 3] = 1
    result = compare_samples(first, second, 999)
    assert result.p_value == 1 / 1_000
    assert result.statistics.argmax() == 2
    assert result.p_values[2] == 1 / 1_000
    assert result.p_values[0] > 0.05
    assert result.p_values[3] == 1
    assert compare_samples(first, second, 999).p_value == result.p_value


def features(seed, num_sentences=2_000, is_calibrated=False):
    """Three candidates in each sentence, the first two of them predicted; one entity in 20 is none."""
    rng = np.random.default_rng(seed)
    number = 3 * num_sentences
    labels = rng.integers(0, 2, number)
    is_predicted = np.arange(number) % 3 < 2
    own = np.where(is_predicted, rng.beta(4, 0.5, number), rng.beta(1, 6, number))
    true = own if is_calibrated else corrected(own, labels)
    found = CandidateSpans(
        np.repeat(np.arange(num_sentences), 3), labels, own, is_predicted, rng.random(number) < true
    )
    num_expected, num_gold = np.zeros((2, num_sentences, 2))
    np.add.at(num_expected, (found.sentences, labels), own)
    np.add.at(num_gold, (found.sentences[found.is_right], labels[found.is_right]), 1)
    if not is_calibrated:
        num_gold[::20, 0] += 1
    words = np.full(num_sentences, 9)
    has_gold = np.ones(num_sentences, dtype=bool)
    groups = Groups("sentence", np.arange(num_sentences))
    return SentenceFeatures(["X", "Y"], words, {}, num_expected, num_gold, has_gold, found, groups)


def test_estimates_are_as_true_as_the_probabilities_and_labelled_texts_correct_them(monkeypatch):
    monkeypatch.setattr(estimates, "NUM_RESAMPLES", 40)
    calibrated = features(0, is_calibrated=True)
    truth = true_measures(calibrated)
    own = estimate(calibrated)
    np.testing.assert_allclose(own.values, truth.values, atol=0.02)
    too_sure, labelled = features(1), features(2, 1_500)
    truth = true_measures(too_sure)
    assert (estimate(too_sure).lowest[0] > truth.highest[0]).any()
    better = estimate_corrected(too_sure, labelled)
    np.testing.assert_allclose(better.values, truth.values, atol=0.04)
    assert ((better.lowest <= truth.values) & (truth.values <= better.highest)).mean() > 0.8
    # The true map knows nothing of entities that are no candidates.
    assert (estimate(too_sure, Correction(TRUE)).values[1, 0] > truth.highest[1, 0]).all()


def test_sentences_without_gold_tags_teach_nothing():
    every = features(3)
    half = np.arange(2_000) < 1_000
    wrong = every._replace(
        has_gold=half,
        num_gold=every.num_gold * half[:, np.newaxis],
        candidates=every.candidates._replace(
            is_right=every.candidates.is_right & half[every.candidates.sentences]
        ),
    )
    weighted = fitted_correction(every, half.astype(float))
    for one, other in zip(fitted_correction(wrong), weighted):
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_what_is_nowhere_predicted_has_no_precision():
    some = features(4, 50)
    hidden = some._replace(
        candidates=some.candidates._replace(is_predicted=some.candidates.labels == 1)
    )
    values = estimate(hidden).values
    assert np.isnan(values[0, 0])
    assert values[1, 0] == 0
    assert pytest.approx(values[0, 1]) == values[0, 2]
