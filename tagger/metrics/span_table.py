"""Span scores as a table to read."""

from typing import Mapping, Optional, Sequence


def format_span_table(
    scores: Mapping[str, Sequence[float]], num_gold: Optional[Mapping[str, int]] = None
) -> str:
    """Returns precision, recall and F1 in one line for each label and each average.

    Args:
        scores: Precision, recall and F1 by name, in the order to print them.
        num_gold: The number of gold spans of each label, for a last column; names that are missing
            here, the averages, are given the total.

    Example:
        >>> scores = {"LOC": (0.75, 0.5, 0.6), "overall": (0.6, 0.375, 0.4615)}
        >>> print(format_span_table(scores, {"LOC": 6, "PER": 2}))
                 precision  recall      F1    gold
        LOC         0.7500  0.5000  0.6000       6
        overall     0.6000  0.3750  0.4615       8
    """
    width = max(map(len, scores), default=0)
    lines = [f"{'':{width}}  precision  recall      F1"]
    for name, (precision, recall, f1) in scores.items():
        lines.append(f"{name:{width}}  {precision:9.4f}  {recall:.4f}  {f1:.4f}")
    if num_gold is not None:
        total = sum(num_gold.values())
        column = ["gold", *(num_gold.get(name, total) for name in scores)]
        lines = [f"{line}  {entry:>6}" for line, entry in zip(lines, column)]
    return "\n".join(lines)
