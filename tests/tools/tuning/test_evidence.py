import numpy as np
import pytest

from tagger.tools.tuning.evidence import FEW_ENTITIES, few_entities, format_evidence
from tagger.tools.tuning.goals import Goal

LABELS = ["LOC", "PER"]


def counts(num_right, num_predicted, num_gold):
    """Counts of PER, beside those of a frequent label."""
    return np.array([[500, num_right], [500, num_predicted], [500, num_gold]])


def test_a_precision_of_few_entities_is_shown_with_its_interval_and_a_warning():
    targets = [Goal(("PER",), "precision", 0.98), Goal(("LOC",), "recall", 0.5)]
    text = format_evidence(targets, LABELS, counts(5, 5, 83))
    assert "PER: precision 1.0000, 5 of 5 predicted (95 % interval 0.5655 to 1.0000)" in text
    assert "recall 0.0602, 5 of 83 gold (95 % interval 0.0260 to 0.1334)" in text
    assert "LOC: precision 1.0000, 500 of 500 predicted" in text
    warning = few_entities(targets, LABELS, counts(5, 5, 83))
    assert "fewer than 50 entities (`PER`: 5 predicted) say little" in warning


@pytest.mark.parametrize(
    ("measure", "num_predicted", "num_gold", "few"),
    [
        ("precision", FEW_ENTITIES - 1, 200, "49 predicted"),
        ("precision", FEW_ENTITIES, 3, None),
        ("recall", 200, FEW_ENTITIES - 1, "49 gold"),
        ("recall", 3, FEW_ENTITIES, None),
        ("f_beta", 48, 49, "48 predicted"),
        ("macro_f1", 49, 0, "0 gold"),
        ("macro_f1", FEW_ENTITIES, FEW_ENTITIES, None),
    ],
)
def test_the_entities_that_judge_a_target_are_counted(measure, num_predicted, num_gold, few):
    targets = [Goal(("PER",), measure, 0.5)]
    warning = few_entities(targets, LABELS, counts(0, num_predicted, num_gold))
    assert warning is None if few is None else f"`PER`: {few}" in warning
    text = format_evidence([Goal(("PER",), "precision", 0.9)], LABELS, counts(0, 0, 4))
    assert "PER: precision -, 0 of 0 predicted" in text
