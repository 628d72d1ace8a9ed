"""Reports what `allennlp tune-decoding` changes, and how many entities its results are based on."""

from typing import Collection, Iterable, List, Mapping, Optional, Sequence

import numpy as np

from tagger.common.console import say
from tagger.metrics import format_metrics
from tagger.metrics.intervals import wilson_interval
from tagger.metrics.label_metrics import MEASURES
from tagger.tools.tuning.goals import Goal

#: Below this number of entities, `few_entities` warns: one more error costs over two points.
FEW_ENTITIES = 50
_OF_LABELS = (*MEASURES, "num-predicted", "num-gold")


def format_evidence(goals: Sequence[Goal], labels: Sequence[str], counts: np.ndarray) -> str:
    """Returns a line for each label with a goal: precision and recall, with counts and intervals.

    The intervals are those of `wilson_interval`; counts are (3, C) int64.

    Example:
        >>> goals, counts = [Goal(("PER",), "precision", 0.98)], np.array([[5], [5], [83]])
        >>> print(format_evidence(goals, ["PER"], counts))
        PER: precision 1.0000, 5 of 5 predicted (95 % interval 0.5655 to 1.0000);
             recall 0.0602, 5 of 83 gold (95 % interval 0.0260 to 0.1334)
    """
    lines = []
    for goal in goals:
        num_right, num_predicted, num_gold = counts[:, labels.index(goal.label)].tolist()
        start = f"{goal.label}: "
        lines.append(f"{start}precision {_share(num_right, num_predicted, 'predicted')};")
        lines.append(f"{' ' * len(start)}recall {_share(num_right, num_gold, 'gold')}")
    return "\n".join(lines)


def _share(num_right: int, num_total: int, kind: str) -> str:
    if num_total == 0:
        return f"-, 0 of 0 {kind}"
    low, high = wilson_interval(num_right, num_total)
    return (
        f"{num_right / num_total:.4f}, {num_right} of {num_total} {kind} "
        f"(95 % interval {low:.4f} to {high:.4f})"
    )


def few_entities(goals: Sequence[Goal], labels: Sequence[str], counts: np.ndarray) -> Optional[str]:
    """Returns a warning if a goal is measured on fewer than `FEW_ENTITIES` entities, else `None`.

    Precision is measured on predicted entities, recall on gold ones, and an F score on the fewer of the
    two. The arguments are those of `format_evidence`.

    Example:
        >>> goals, counts = [Goal(("PER",), "precision", 0.98)], np.array([[5], [5], [83]])
        >>> print(few_entities(goals, ["PER"], counts))
        Warning: fewer than 50 entities (`PER`: 5 predicted) say little: what they ...
    """
    few: List[str] = []
    for goal in goals:
        _, num_predicted, num_gold = counts[:, labels.index(goal.label)].tolist()
        numbers = {"predicted": num_predicted, "gold": num_gold}
        kind = {"precision": "predicted", "recall": "gold"}.get(
            goal.measure, min(numbers, key=lambda each: numbers[each])
        )
        if numbers[kind] < FEW_ENTITIES:
            few.append(f"`{goal.label}`: {numbers[kind]} {kind}")
    if not few:
        return None
    return (
        f"Warning: fewer than {FEW_ENTITIES} entities ({', '.join(few)}) say little: what they "
        "show may be luck; use more development data, or a target that predicts more"
    )


def say_changes(
    labels: Iterable[str],
    before: Mapping[str, float],
    after: Mapping[str, float],
    named: Collection[str] = (),
) -> None:
    """Prints the metrics before and after, except for unnamed labels that did not change."""
    unchanged = {
        label
        for label in labels
        if label not in named
        and all(before.get(f"{m}-{label}") == after.get(f"{m}-{label}") for m in _OF_LABELS)
    }
    left_out = {f"{name}-{label}" for name in _OF_LABELS for label in unchanged}
    for title, metrics in {"Before": before, "After": after}.items():
        shown = {name: number for name, number in metrics.items() if name not in left_out}
        say(f"{title}\n{format_metrics(shown)}\n")
    if unchanged:
        say(f"Labels not shown, which are unchanged: {len(unchanged)}\n")
