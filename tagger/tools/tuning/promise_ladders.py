"""Ladders of settings, in the fixed orders in which promises are tested.

Letters: `G` goals, `M` settings, `U` units, `D` draws of units.
"""

from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from tagger.tools.tuning.promise_record import Goal
from tagger.tools.tuning.promises import MOST_REPEATS, p_values, rejected

#: The bias and the threshold of labels.
Changes = Dict[str, Tuple[Optional[float], Optional[float]]]

#: The thresholds to test for a precision, from strict to loose. They do not depend on the data.
THRESHOLDS: List[float] = [
    *(1 - np.geomspace(1e-4, 0.09, 40)).tolist(),
    *np.linspace(0.9, 0, 19).tolist(),
]
#: The biases to test, in nats, from many entities to few.
BIASES: List[float] = np.arange(8, -8.25, -0.25).tolist()
#: Where tests start: with two fifths of the error each at thresholds of about 0.995 and 0.93, and with
#: the rest at 0, which leaves the tagger as it is; and at biases of 6 and 2.
THRESHOLD_STARTS = [
    int(np.argmin(np.abs(np.array(THRESHOLDS) - t))) for t in (0.995, 0.995, 0.93, 0.93, 0)
]
BIAS_STARTS = [BIASES.index(bias) for bias in (6, 2)]
#: Where they start for goals that are lost on both sides, such as a precision with a recall.
MIDDLE_STARTS = [BIASES.index(bias) for bias in (4, 3, 2, 1, 0, -1)]
#: The biases of some labels under which thresholds of others are tested.
FEW_BIASES = (0.0, 1.0, 2.0, 4.0)


class Ladder(NamedTuple):
    """Settings in a fixed order, and what they do to units.

    Attributes:
        goals: What each setting has to keep; all of them at once.
        changes: For each of M settings, the bias and the threshold of labels.
        right: (G, M, U), what is right.
        total: (G, M, U), of how many.
        starts: Where tests start.
        takes_last: Whether the last setting that passes is the best one. Else it is the one whose
            p-value is lowest.
        unchanged: Which setting leaves the tagger as it is; None if none does.
    """

    goals: Tuple[Goal, ...]
    changes: Sequence[Changes]
    right: np.ndarray
    total: np.ndarray
    starts: Sequence[int]
    takes_last: bool = True
    unchanged: Optional[int] = None

    def p_values(
        self, draws: Optional[np.ndarray] = None, for_next: Optional[int] = None
    ) -> np.ndarray:
        """Tests whether a setting misses any goal; see `promises.p_values`.

        All goals must be shown to hold, so that the largest p-value counts (Berger 1982,
        "Multiparameter hypothesis testing and acceptance sampling"), and the error is not divided.

        Returns:
            (M,), or (D, M) with `draws`.
        """
        each = [
            p_values(right, total, goal.least, draws, for_next)
            for goal, right, total in zip(self.goals, self.right, self.total)
        ]
        return np.max(each, axis=0)

    def least_p_values(
        self, draws: Optional[np.ndarray] = None, for_next: Optional[int] = None
    ) -> np.ndarray:
        """Returns what `p_values` would return if all items were right."""
        return self._replace(right=self.total).p_values(draws, for_next)

    def chosen(self, error: float, repeats: int = 1, for_next: Optional[int] = None) -> int:
        """Chooses a setting; -1 if none is shown to keep the goals.

        Args:
            error: Of the tests of this ladder.
            repeats: As if there were so many times as many units like these.
            for_next: For how many new units; None for all.
        """
        draws = np.full((1, self.right.shape[-1]), repeats)
        p, least = self.p_values(draws, for_next), self.least_p_values(draws, for_next)
        return int(self.pick(p, least, error)[0])

    def pick(self, p_values: np.ndarray, least_p_values: np.ndarray, error: float) -> np.ndarray:
        """Chooses settings by p-values and the least possible ones, (..., M) each, with this error.

        Returns:
            (...) int64, the index of the setting; -1 if none is shown to keep the goals.
        """
        passes = rejected(p_values, self.starts, error, least_p_values)
        if self.takes_last:
            chosen = passes.shape[-1] - 1 - passes[..., ::-1].argmax(-1)
        else:
            chosen = np.where(passes, p_values, np.inf).argmin(-1)
        return np.where(passes.any(-1), chosen, -1)

    def with_easier(self, factor: float) -> "Ladder":
        """Returns a ladder whose goals allow so many times as large a share of errors."""
        goals = (goal.at_least(max(1 - factor * (1 - goal.least), 0.001)) for goal in self.goals)
        return self._replace(goals=tuple(goals))


class Choice(NamedTuple):
    """A setting of a ladder."""

    ladder: Ladder
    at: int


class Search:
    """Looks for settings that keep goals.

    Args:
        options: Ways to keep them, in the order of preference. A way is several ladders, which must all
            succeed. The error is divided among the ways, and within each among its ladders (Bonferroni).
        error: One minus the confidence.
        for_next: For how many new units; None for all.
    """

    def __init__(
        self, options: Sequence[Sequence[Ladder]], error: float, for_next: Optional[int] = None
    ) -> None:
        self.options = options
        self._error = error
        self._for_next = for_next

    @property
    def goals(self) -> List[Goal]:
        """The goals of all ladders."""
        return [goal for ladder in self.options[0] for goal in ladder.goals]

    @property
    def num_items(self) -> int:
        """The most predicted or gold entities that decide a precision or a recall; 0 for others."""
        totals = [
            int(total.sum(1).max())
            for ladder in self.options[0]
            for goal, total in zip(ladder.goals, ladder.total)
            if goal.measure in ("precision", "recall")
        ]
        return max(totals, default=0)

    def choose(self, factor: float = 1.0, repeats: int = 1) -> Optional[List[Choice]]:
        """Returns a setting of each ladder of the first way that succeeds; None if none does.

        Args:
            factor: Goals may have so many times as many errors.
            repeats: As if there were so many times as many units like these.
        """
        for option in self.options:
            error = self._error / len(self.options) / len(option)
            choices = []
            for ladder in option:
                easier = ladder if factor == 1 else ladder.with_easier(factor)
                choices.append(Choice(easier, easier.chosen(error, repeats, self._for_next)))
            if all(choice.at >= 0 for choice in choices):
                return choices
        return None

    def best_goals(self) -> Optional[List[Goal]]:
        """Returns the goals nearest to these that the data support; None if there are none.

        They allow the same multiple of each goal's share of errors.
        """
        most = 1 / min(1 - goal.least for goal in self.goals)
        low, high = 0.0, np.log(most)
        if self.choose(np.exp(high)) is None:
            return None
        for _ in range(12):
            middle = (low + high) / 2
            low, high = (low, middle) if self.choose(np.exp(middle)) else (middle, high)
        choices = self.choose(np.exp(high))
        assert choices is not None
        return [
            goal.at_least(np.floor(1e4 * goal.least) / 1e4)
            for ladder, _ in choices
            for goal in ladder.goals
        ]

    def repeats_needed(self) -> Optional[int]:
        """Returns how many times as many data like these would do; None if `MOST_REPEATS` do not."""
        found = (n for n in range(2, MOST_REPEATS + 1) if self.choose(repeats=n) is not None)
        return next(found, None)
