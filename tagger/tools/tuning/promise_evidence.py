"""What labelled data show of a tagger as it is, and what a promise about it costs."""

import math
from typing import NamedTuple, Optional

from tagger.tools.tuning.promise_ladders import Choice, Ladder
from tagger.tools.tuning.promises import MOST_REPEATS, p_values
from tagger.tools.tuning.units import Units, spell_units

#: Confidences to offer in place of a higher one.
_CONFIDENCES = (0.99, 0.975, 0.95, 0.925, 0.9, 0.85, 0.8, 0.75, 0.7, 0.6, 0.5)
_COUNTED = {
    "precision": "{right:g} of the {total:g} entities that it predicts are right",
    "recall": "it finds {right:g} of the {total:g} gold entities",
}


class Evidence(NamedTuple):
    """Speaks of the tests of a command.

    Attributes:
        error: One minus the confidence.
        num_ladders: Among how many ladders it is divided.
        units: The units of the sentences.
        for_next: Promises are for so many new units; None for all.
    """

    error: float
    num_ladders: int
    units: Units
    for_next: Optional[int]

    def as_it_is(self, ladder: Ladder) -> str:
        """Says what the data show of the tagger with unchanged settings.

        Args:
            ladder: If it is not of one precision or recall, the text is empty.
        """
        goal = ladder.goals[0]
        if ladder.unchanged is None or len(ladder.goals) > 1 or goal.measure not in _COUNTED:
            return ""
        right, total = (each[:, ladder.unchanged] for each in (ladder.right, ladder.total))
        low, high = 0.0, 1.0
        for _ in range(14):
            middle = (low + high) / 2
            p_value = p_values(right, total, middle, for_next=self.for_next)[0]
            low, high = (middle, high) if p_value <= self.error else (low, middle)
        counted = _COUNTED[goal.measure].format(right=right.sum(), total=total.sum())
        return (
            f"{', '.join(goal.labels)}: as the tagger is, {counted}; by themselves, they show a "
            f"{goal.measure} of at least {low:.4f} with {100 * (1 - self.error):g} % confidence"
        )

    def of_choice(self, choice: Choice, num_gold: int) -> str:
        """Says what the data show, and what a threshold costs if one was needed.

        Args:
            choice: A setting that was chosen.
            num_gold: The number of gold entities of the label.
        """
        ladder, at = choice
        shown = self.as_it_is(ladder)
        if not shown or ladder.goals[0].measure != "precision":
            return shown
        if at == ladder.unchanged:
            return f"{shown}; its settings stay as they are"
        dropped = ladder.total[0, ladder.unchanged].sum() - ladder.total[0, at].sum()
        before, after = (ladder.right[0, each].sum() / num_gold for each in (ladder.unchanged, at))
        return (
            f"{shown}. The thresholds that are tested too share this confidence, so it is not enough "
            f"for {ladder.goals[0].level:g}: the {dropped:g} least probable entities are dropped, and "
            f"recall falls from {before:.4f} to {after:.4f}. {self._without_threshold(ladder)}"
        )

    def _without_threshold(self, ladder: Ladder) -> str:
        """Says for which target, confidence or number of data the settings could stay."""
        (goal,) = ladder.goals

        def stays(error: float, repeats: int = 1, level: float = goal.level) -> bool:
            eased = ladder._replace(goals=(goal.at_least(level),))
            return (
                eased.chosen(error / self.num_ladders, repeats, self.for_next) == ladder.unchanged
            )

        levels = ((math.floor(100 * goal.level) - step) / 100 for step in range(30))
        level = next((x for x in levels if x > 0 and stays(self.error, level=x)), None)
        confidences = (each for each in _CONFIDENCES if 1 - each > self.error and stays(1 - each))
        repeats = (each for each in range(2, MOST_REPEATS + 1) if stays(self.error, each))
        confidence, times = next(confidences, None), next(repeats, None)
        remedies = [f"for a target of {level:g}"] if level else []
        remedies += [f"with --confidence {confidence:g}"] if confidence else []
        if times:
            more = spell_units((times - 1) * self.units.num_units, self.units.unit, "more ")
            remedies.append(f"with about {more} like these")
        if not remedies:
            return "Neither less confidence nor more data like these would keep all of them"
        return f"All could stay {', or '.join(remedies)}"
