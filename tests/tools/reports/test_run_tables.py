import numpy as np
import pytest

from tagger.metrics.label_metrics import metrics_by_label
from tagger.tools.reports.error_tables import confusion_tables, fates, kinds_of_errors
from tagger.tools.reports.run_tables import (
    average_rows,
    headline,
    label_rows,
    sparkline,
    weighted_rows,
)

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


def test_averages_are_dashes_where_nothing_is_predicted_and_do_not_repeat_a_single_label():
    metrics = metrics_by_label(["A"], np.array([[0], [0], [4]]))
    rows = average_rows(metrics, {}, "", num_labels=2)
    assert [row.name for row in rows] == ["all labels together", "mean over labels"]
    assert [(row.precision.value, row.recall.value) for row in rows] == [(None, 0)] * 2
    assert [row.num_gold for row in rows] == [4, None]
    of_tokens = {f"token-{name}": value for name, value in metrics.items()}
    assert average_rows(metrics, {}, "", num_labels=1) == []
    (row,) = average_rows({**metrics, **of_tokens}, {}, "", num_labels=1)
    assert row.name == "tokens, all labels together"
    assert average_rows(of_tokens, {}, "token-", num_labels=1) == []


def test_a_small_curve_leaves_out_what_is_unknown_and_may_have_one_point():
    assert sparkline([0.2])["points"] == "2,13.2"
    assert sparkline([float("nan"), 1.0])["points"] == "58,2"
    assert sparkline([float("nan")]) == {}


CONFUSIONS = {
    **{"confusion-LOC>LOC": 20, "confusion-LOC>PER": 12, "confusion-LOC>boundary": 5},
    **{"confusion-LOC>both": 2, "confusion-LOC>missed": 1, "confusion-PER>PER": 60},
    **{"confusion-both>LOC": 3, "confusion-spurious>LOC": 1, "confusion-RARE>missed": 2},
    **{"confusion-boundary>LOC": 16, "confusion-spurious>PER": 8},
}


def test_confusions_are_tinted_by_their_share_of_the_row_or_of_the_predictions():
    (table,) = confusion_tables(CONFUSIONS, LABELS)
    assert table.columns == ["LOC", "PER", "boundary", "both", "missed"]
    rows = dict(table.rows)
    assert list(rows) == [*LABELS, "boundary", "both", "spurious"]
    assert [cell.is_right for cell in rows["PER"]] == [False, True, False, False, False]
    assert rows["LOC"][1].tint == round(100 * (12 / 40) ** 0.5)
    assert rows["spurious"][0].tint == round(100 * (1 / 40) ** 0.5)
    assert rows["RARE"][4].tint == 100


def test_many_labels_have_a_list_of_confusions_instead():
    labels = [f"L{i}" for i in range(41)]
    confusions = {"token-confusion-L0>L1": 2, "token-confusion-L1>O": 3, "token-confusion-O>O": 9}
    (table,) = confusion_tables(confusions, labels)
    assert not table.columns
    assert table.errors == [("L1", "O", 3), ("L0", "L1", 2)]


def test_kinds_of_errors_add_up_to_what_is_wrong():
    kinds = {kind.name: kind for kind in kinds_of_errors("entities", LABELS, CONFUSIONS, COUNTS)}
    numbers = {name: (kind.gold, kind.predicted) for name, kind in kinds.items()}
    right, _predicted, gold = COUNTS.sum((0, 2))
    # The counts of this test do not fit its confusions, except in number.
    assert numbers["wrong boundary"] == (5, 16)
    assert numbers["wrong label and boundary"] == (2, 3)
    assert numbers["missed"] == (3, None)
    assert numbers["spurious"] == (None, 9)
    assert sum(g for g, _ in numbers.values() if g is not None) == gold - right
    shares = [fate.share for fate in fates(COUNTS, list(kinds.values()))]
    assert sum(shares) == pytest.approx(1)
    # A label that looks like a kind of error is a label.
    confusions = {"confusion-A>missed>missed": 1, "confusion-A>missed": 4}
    counts = np.array([[[0, 0], [0, 0], [4, 1]]])
    kinds = kinds_of_errors("entities", ["A", "A>missed"], confusions, counts)
    assert [kind.gold for kind in kinds if kind.name == "missed"] == [5]


def test_averages_by_weight_are_those_of_copies_with_wider_intervals():
    rng = np.random.default_rng(0)
    counts = COUNTS[rng.permutation(len(COUNTS))]
    weights = rng.choice([0, 1, 5], size=len(counts))
    rows = weighted_rows(counts * weights[:, None, None], 50, 3)
    assert [row.name for row in rows] == [
        "all labels together, by weight",
        "mean over labels, by weight",
    ]
    metrics = metrics_by_label(LABELS, np.repeat(counts, weights, axis=0).sum(0))
    for row, name in zip(rows, ("overall", "macro")):
        for measure, prefix in ((row.precision, "precision"), (row.f1, "f1-measure")):
            assert measure.value == pytest.approx(metrics[f"{prefix}-{name}"])
            assert measure.interval[0] < measure.value < measure.interval[1]
    plain = headline(counts, metrics_by_label(LABELS, counts.sum(0)), "")["F1"]
    width, plain_width = (high - low for low, high in (rows[0].f1.interval, plain.interval))
    assert width > plain_width
    (row,) = weighted_rows(counts * weights[:, None, None], 9, 1)
    assert row.f1.interval is None
