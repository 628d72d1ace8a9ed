"""Precision, recall and F1 of spans of which a part is right: a pure function on arrays."""

from typing import Dict, Sequence

import numpy as np

from tagger.metrics.label_metrics import MEASURES, precision_recall_f1
from tagger.spans.partial_matching import SCHEMES


def partial_metrics(labels: Sequence[str], counts: np.ndarray) -> Dict[str, float]:
    """Returns the metrics of the schemes besides `strict`, whose metrics are those of spans.

    Args:
        labels: The C labels.
        counts: (4, C + 1, 5) int64, as from `count_partial_matches`, or a sum of such.

    Returns:
        `exact-precision-PER`, `partial-recall-overall`, `type-f1-measure-LOC` and so on: by scheme, by
        measure, and by label or `overall`. By `partial`, half of the partial matches count as right.

    Example:
        >>> matches = [2, 0, 1, 0, 2]  # correct, incorrect, partial, missed, spurious
        >>> metrics = partial_metrics([], np.array([[matches]] * 4))
        >>> metrics["partial-precision-overall"], round(metrics["partial-recall-overall"], 3)
        (0.5, 0.833)
    """
    # (4, C + 1) each
    correct, incorrect, partial, missed, spurious = np.moveaxis(counts, 2, 0)
    num_pairs = correct + incorrect + partial
    # (3, 4, C + 1)
    measures = precision_recall_f1(
        np.stack([correct + partial / 2, num_pairs + spurious, num_pairs + missed])
    )
    return {
        f"{scheme}-{measure}-{name}": float(measures[m, s, n])
        for s, scheme in enumerate(SCHEMES)
        if scheme != "strict"
        for n, name in enumerate([*labels, "overall"])
        for m, measure in enumerate(MEASURES)
    }
