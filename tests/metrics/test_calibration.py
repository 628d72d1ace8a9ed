import numpy as np
import pytest
import torch

from tagger.linear_chain import allowed_tags
from tagger.metrics import TagMetrics
from tagger.metrics.calibration import count_calibration, expected_calibration_error
from tests.spans.tagged import vocabulary_of

TAGS = ["O", "B-X", "I-X", "B-Y", "I-Y"]


@pytest.mark.parametrize("num_bins", [1, 10, 15])
def test_the_calibration_error_is_the_mean_distance_over_bins(num_bins):
    rng = np.random.default_rng(0)
    probabilities = np.append(rng.random(400), [0.0, 1.0])
    is_right = rng.random(402) < probabilities**2
    bins = [min(int(p * num_bins), num_bins - 1) for p in probabilities]
    expected = 0.0
    for each in set(bins):
        inside = np.array(bins) == each
        distance = abs(probabilities[inside].mean() - is_right[inside].mean())
        expected += inside.mean() * distance
    counts = count_calibration(probabilities, is_right, num_bins)
    assert expected_calibration_error(counts) == pytest.approx(expected)
    nothing = count_calibration(np.empty(0), np.empty(0), num_bins)
    assert expected_calibration_error(nothing) == 0


def test_entities_count_with_the_probability_of_their_first_token():
    metric = TagMetrics(vocabulary_of(TAGS), calibration_bins=10)

    def error(gold, reset=True):
        metric(predictions, gold, mask, probabilities)
        return metric.get_metric(reset)["calibration-error"]

    # Predicted: B-X I-X O | B-Y B-X. The last B-X is wrong.
    predictions = torch.tensor([[1, 2, 0], [3, 1, 4]])
    gold = torch.tensor([[1, 2, 0], [3, 3, 0]])
    probabilities = torch.tensor([[0.9, 7.0, 7.0], [0.6, 0.3, 7.0]])
    mask = torch.tensor([[True, True, True], [True, True, False]])
    for _ in range(2):  # Batches add up.
        assert error(gold, reset=False) == pytest.approx((0.1 + 0.4 + 0.3) / 3)
    metric.reset()
    assert "0.90 - 1.00           2            0.9000       1.0000" in metric.format_calibration()
    # Entities next to a token with an unknown tag do not count.
    gold[0, 2] = -1
    assert error(gold) == error(allowed_tags(gold, 5)) == pytest.approx((0.4 + 0.3) / 2)
    assert metric.get_metric()["calibration-error"] == 0
