"""Span scores as a table to read."""

from typing import Sequence

import numpy as np

from tagger.metrics.span_counts import scores_by_label


def format_span_table(labels: Sequence[str], counts: np.ndarray) -> str:
    """Returns precision, recall, F1 and the number of gold spans, one line for each label.

    Two lines of averages end the table: `overall`, of all spans together, and `macro`, the mean over
    the labels that occur.

    Args:
        labels: The C labels.
        counts: (3, C) int64, true positives, predicted and gold spans.

    Example:
        >>> print(format_span_table(["LOC", "PER"], np.array([[3, 0], [4, 1], [6, 2]])))
                 precision  recall      F1    gold
        LOC         0.7500  0.5000  0.6000       6
        PER         0.0000  0.0000  0.0000       2
        overall     0.6000  0.3750  0.4615       8
        macro       0.3750  0.2500  0.3000       8
    """
    num_gold = dict(zip(labels, counts[2].tolist()))
    width = max(map(len, ["overall", *labels]))
    lines = [f"{'':{width}}  precision  recall      F1    gold"]
    for name, (precision, recall, f1) in scores_by_label(labels, counts).items():
        lines.append(
            f"{name:{width}}  {precision:9.4f}  {recall:.4f}  {f1:.4f}  "
            f"{num_gold.get(name, counts[2].sum()):6d}"
        )
    return "\n".join(lines)
