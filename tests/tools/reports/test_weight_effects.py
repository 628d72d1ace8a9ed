import math

import numpy as np
import pytest

from tagger.tools.reports.weight_effects import (
    best_weight,
    changes_by_seed,
    correlations_by_seed,
    curve,
    mean_interval,
    rank_correlation,
)
from tagger.tools.runs.results import Result


def result(weight, seed, **metrics):
    return Result({"weight": weight, "seed": seed}, metrics)


def test_a_curve_has_the_values_of_all_seeds_by_rising_weight():
    results = [result(4, 1, f1=0.4), result(0.5, 1, f1=0.1), result(4, 2, f1=0.3)]
    assert list(curve(results, "f1").items()) == [(0.5, [0.1]), (4, [0.4, 0.3])]


@pytest.mark.parametrize(
    ("metric", "count"),
    [
        ("best_validation_precision-PER", "best_validation_num-predicted-PER"),
        ("test_token-recall-PER", "test_token-num-gold-PER"),
    ],
)
def test_undefined_values_are_left_out(metric, count):
    results = [
        result(weight, seed, **{metric: value, count: number})
        for weight, seed, value, number in [
            *((1, 1, 0.5, 9), (1, 2, 0.0, 0), (2, 1, 0.0, 9), (2, 2, 0.7, 1), (4, 1, 0.0, 0))
        ]
    ]
    assert curve(results, metric) == {1: [0.5], 2: [0.0, 0.7]}
    assert changes_by_seed(results, metric, 2) == [-0.5]
    assert changes_by_seed(results, metric, 4) == []
    assert math.isnan(rank_correlation({}))
    assert best_weight({}, {1: [0.5]}, max_loss=0.01) == 1


def test_a_run_without_the_metric_is_named():
    with pytest.raises(ValueError, match="'weight': 4.*without the metric 'f1'; it has loss"):
        curve([result(4, 1, loss=0.4)], "f1")


@pytest.mark.parametrize(
    ("curve_of_metric", "correlation"),
    [
        ({0.1: [0.3], 1: [0.4], 10: [0.9]}, 1),
        ({0.1: [0.9, 0.8], 1: [0.7, 0.6]}, -2 / math.sqrt(5)),
        ({0.5: [0.2], 1: [0.1], 2: [0.3]}, 0.5),
    ],
)
def test_rank_correlation_is_spearmans_over_all_runs(curve_of_metric, correlation):
    assert rank_correlation(curve_of_metric) == pytest.approx(correlation)


@pytest.mark.parametrize("curve_of_metric", [{1: [0.5, 0.6]}, {1: [0.5], 2: [0.5]}])
def test_rank_correlation_without_variation_is_undefined(curve_of_metric):
    assert math.isnan(rank_correlation(curve_of_metric))


@pytest.mark.parametrize("num_values", [2, 3, 10])
def test_an_interval_holds_the_mean_in_nineteen_of_twenty_cases(num_values):
    draws = np.random.default_rng(0).normal(0.5, 0.2, (2_000, num_values))
    hits = [low <= 0.5 <= high for low, high in map(mean_interval, draws.tolist())]
    assert np.mean(hits) == pytest.approx(0.95, abs=0.02)


def test_changes_are_within_a_seed():
    results = [
        result(1, 1, f1=0.1),
        result(2, 1, f1=0.3),
        result(2, 2, f1=0.9),
        result(1, 2, f1=0.5),
    ]
    results += [result(4, 1, f1=0.7), result(2, 3, f1=0.9)]
    assert changes_by_seed(results, "f1", 2) == pytest.approx([0.2, 0.4])


def test_correlations_are_within_a_seed_where_they_are_defined():
    results = [
        result(weight, seed, f1=value)
        for seed, values in {1: (0.1, 0.2), 2: (0.9, 0.8), 3: (0.5, 0.5)}.items()
        for weight, value in zip((1, 2), values)
    ]
    assert correlations_by_seed(results, "f1") == pytest.approx([1, -1])


MACRO_F1 = {0.25: [0.80, 0.78], 0.5: [0.78, 0.80], 1: [0.8, 0.8], 2: [0.79, 0.78]}


def test_the_best_weight_may_cost_as_much_as_allowed_in_the_mean():
    recall = {0.25: [0.5, 0.6], 0.5: [0.7, 0.3], 1: [0.4, 0.4], 2: [0.9, 0.9]}
    assert best_weight(recall, MACRO_F1, max_loss=0.01) == 0.25
    assert best_weight(recall, MACRO_F1, max_loss=0.009) == 1
    assert best_weight(recall, MACRO_F1, max_loss=0.015) == 2


def test_of_equally_good_weights_the_one_nearest_to_the_plain_model_wins():
    recall = {key: [0.5] for key in MACRO_F1}
    assert best_weight({**recall, 1: [0.4]}, MACRO_F1, max_loss=0.01) == 0.5
    assert best_weight(recall, MACRO_F1, max_loss=0.01) == 1


def test_without_the_plain_model_there_is_nothing_to_compare_with():
    with pytest.raises(ValueError, match=r"must have runs of weight 1, .* got the weights 0.5, 2"):
        best_weight({0.5: [1]}, {0.5: [1], 2: [1]}, max_loss=0.01)
