"""The scores that are shown while a pass is under way."""

from typing import Dict

HEADLINES = ("accuracy", "f1-measure-overall", "f1-measure-macro")


def headlines(scores: Dict[str, float]) -> Dict[str, float]:
    """Returns the few that fit on the trainer's single line.

    Example:
        >>> headlines({"precision-PER": 0.5, "f1-measure-overall": 0.7})
        {'f1-measure-overall': 0.7}
    """
    return {name: scores[name] for name in HEADLINES if name in scores}
