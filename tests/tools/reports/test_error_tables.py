import numpy as np
import pytest

from tagger.tools.reports.error_tables import confusion_tables, fates, kinds_of_errors

LABELS = ["LOC", "PER", "RARE"]
# Right, predicted and gold of LOC, PER and RARE in sentences of two kinds.
COUNTS = np.array([[[1, 2, 0], [1, 3, 0], [1, 2, 0]], [[0, 1, 0], [1, 1, 0], [1, 1, 0]]] * 20)
COUNTS[0, 2, 2] = 2
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


def test_a_label_that_looks_like_a_kind_of_error_is_a_label():
    confusions = {"confusion-A>missed>missed": 1, "confusion-A>missed": 4}
    counts = np.array([[[0, 0], [0, 0], [4, 1]]])
    kinds = kinds_of_errors("entities", ["A", "A>missed"], confusions, counts)
    assert [kind.gold for kind in kinds if kind.name == "missed"] == [5]
