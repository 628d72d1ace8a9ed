"""What tuning changes, as the commands show it."""

from typing import Collection, Mapping

from tagger.common.console import say
from tagger.metrics import format_metrics
from tagger.metrics.label_metrics import MEASURES


def say_changes(
    before: Mapping[str, float], after: Mapping[str, float], unchanged: Collection[str]
) -> None:
    """Prints the metrics before and after, without the labels that are unchanged."""
    left_out = {f"{measure}-{label}" for measure in (*MEASURES, "num-gold") for label in unchanged}
    for title, metrics in {"Before": before, "After": after}.items():
        shown = {name: number for name, number in metrics.items() if name not in left_out}
        say(f"{title}\n{format_metrics(shown)}\n")
    if unchanged:
        say(f"Labels not shown, which are unchanged: {len(unchanged)}\n")
