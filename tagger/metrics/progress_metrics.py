"""The metrics that the trainer shows while an epoch is under way."""

from typing import Dict

PROGRESS_METRICS = ("accuracy", "f1-measure-overall", "f1-measure-macro")


def progress_metrics(metrics: Dict[str, float]) -> Dict[str, float]:
    """Returns the few metrics that fit on the trainer's single line.

    Example:
        >>> progress_metrics({"precision-PER": 0.5, "f1-measure-overall": 0.7})
        {'f1-measure-overall': 0.7}
    """
    return {name: metrics[name] for name in PROGRESS_METRICS if name in metrics}
