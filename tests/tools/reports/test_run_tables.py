import numpy as np

from tagger.metrics.label_metrics import metrics_by_label
from tagger.tools.reports.run_tables import average_rows, headline, label_rows, sparkline

LABELS = ["LOC", "PER", "RARE"]
# Right, predicted and gold of LOC, PER and RARE in sentences of two kinds.
COUNTS = np.array([[[1, 2, 0], [1, 3, 0], [1, 2, 0]], [[0, 1, 0], [1, 1, 0], [1, 1, 0]]] * 20)
COUNTS[0, 2, 2] = 2


def test_the_headline_is_that_of_the_metrics_with_an_interval_around_it():
    metrics = metrics_by_label(LABELS, COUNTS.sum(0))
    measures = headline(COUNTS, metrics, "")
    assert list(measures) == ["F1", "precision", "recall", "macro F1"]
    assert measures["F1"].value == metrics["f1-measure-overall"]
    assert measures["macro F1"].value == metrics["f1-measure-macro"]
    for measure in measures.values():
        low, high = measure.interval
        assert low < measure.value < high


def test_labels_that_a_draw_lacks_stay_in_the_macro_average():
    # One label is never right and many draws lack it; the mean of the others is .9.
    counts = np.zeros((100, 3, 2), dtype=int)
    counts[:, :, 0] = 1
    counts[::10, 0, 0] = 0
    counts[7, 2, 1] = 1
    measure = headline(counts, metrics_by_label(LABELS[:2], counts.sum(0)), "")["macro F1"]
    low, high = measure.interval
    assert 0.38 < low < 0.45 < high < 0.5


def test_labels_come_by_their_number_and_few_cases_have_no_interval():
    rows = label_rows(LABELS, COUNTS, {"PER": 0.3}, {"PER": [0.5, 0.7]})
    assert [row.name for row in rows] == ["PER", "LOC", "RARE"]
    # Colours go by the sorted label set.
    assert [row.colour for row in rows] == [1, 0, 2]
    assert [row.num_gold for row in rows] == [60, 40, 2]
    assert [row.threshold for row in rows] == [0.3, None, None]
    assert rows[0].precision.value == 0.75
    assert rows[0].epochs == [0.5, 0.7]
    assert rows[1].f1.interval is not None
    assert (rows[2].precision.value, rows[2].recall.value) == (None, 0)
    assert rows[2].recall.interval is None


def test_averages_are_dashes_where_nothing_is_predicted():
    metrics = metrics_by_label(["A"], np.array([[0], [0], [4]]))
    rows = average_rows(metrics, {}, "", num_labels=2)
    assert [row.name for row in rows] == ["all labels together", "mean over labels"]
    assert [(row.precision.value, row.recall.value) for row in rows] == [(None, 0)] * 2
    assert [row.num_gold for row in rows] == [4, None]


def test_averages_over_a_single_label_do_not_repeat_its_row():
    metrics = metrics_by_label(["A"], np.array([[1], [2], [4]]))
    of_tokens = {f"token-{name}": value for name, value in metrics.items()}
    assert average_rows(metrics, {}, "", num_labels=1) == []
    (row,) = average_rows({**metrics, **of_tokens}, {}, "", num_labels=1)
    assert row.name == "tokens, all labels together"
    assert average_rows(of_tokens, {}, "token-", num_labels=1) == []


def test_a_small_curve_leaves_out_what_is_unknown_and_may_have_one_point():
    assert sparkline([0.2])["points"] == "2,13.2"
    assert sparkline([float("nan"), 1.0])["points"] == "58,2"
    assert sparkline([float("nan")]) == {}
