"""Candidate settings, in the fixed orders in which promises are tried.

Letters: `G` goals, `M` settings, `D` draws of groups.
"""

from typing import List, Mapping, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from tagger.tools.tuning.decoding import DecodingTuner, Settings
from tagger.tools.tuning.goals import OF_MASKS, Goal
from tagger.tools.tuning.groups import Groups
from tagger.tools.tuning.promise_tests import p_values, rejected

#: The largest number of copies of the data that `Search.repeats_needed` tries.
MOST_REPEATS = 50
#: The thresholds to test for a precision, from strict to loose. They do not depend on the data.
THRESHOLDS: List[float] = [
    *(1 - np.geomspace(1e-4, 0.09, 40)).tolist(),
    *np.linspace(0.9, 0, 19).tolist(),
]
#: The biases to test, in nats, from many entities to few.
BIASES: List[float] = np.arange(8, -8.25, -0.25).tolist()
#: Where tests start. Thresholds of about 0.995 and 0.93 get two fifths of the error each, and 0, which
#: leaves the tagger unchanged, gets the rest. Biases start at 6 and 2.
THRESHOLD_STARTS = [
    int(np.argmin(np.abs(np.array(THRESHOLDS) - t))) for t in (0.995, 0.995, 0.93, 0.93, 0)
]
BIAS_STARTS = [BIASES.index(bias) for bias in (6, 2)]
#: Where they start if both higher and lower biases can miss a goal, such as a precision and a recall.
MIDDLE_STARTS = [BIASES.index(bias) for bias in (4, 3, 2, 1, 0, -1)]
#: The thresholds of masks, from strict to loose; 1 masks nothing but predicted entities. Their tests
#: start at the strictest, and at 0.001.
MASK_THRESHOLDS: List[float] = np.geomspace(1e-6, 1, 49).round(8).tolist()
MASK_STARTS = [0, 24]
#: The biases of labels with other goals under which thresholds are tried.
FEW_BIASES = (0.0, 1.0, 2.0, 4.0)


class TriedSettings(NamedTuple):
    """Settings in a fixed order, and their results on groups of sentences."""

    goals: Tuple[Goal, ...]  # The goals that each setting must all meet
    # For each of M settings, the bias and the threshold of labels.
    changes: Sequence[Mapping[str, Tuple[Optional[float], Optional[float]]]]
    right: np.ndarray  # (G, M, groups), the numerators
    total: np.ndarray  # (G, M, groups), the denominators
    starts: Sequence[int]  # Where tests start
    # Whether the last setting that passes is the best one; otherwise it is the one with the lowest
    # p-value.
    takes_last: bool = True
    unchanged: Optional[int] = None  # The setting that leaves the tagger unchanged, if any
    thresholds: Optional[Sequence[float]] = None  # For masks, which change no settings

    def p_values(
        self, draws: Optional[np.ndarray] = None, for_next: Optional[int] = None
    ) -> np.ndarray:
        """Tests whether a setting misses any goal; see `promise_tests.p_values`.

        All goals must be shown to hold, so the largest p-value counts and the error is not divided
        (Berger 1982, "Multiparameter hypothesis testing and acceptance sampling").

        Returns (2, M), or (2, D, M) with `draws`: p-values of the data, and those if all were right.
        """

        def largest(right: np.ndarray) -> np.ndarray:
            of_goals = zip(self.goals, right, self.total)
            each = [p_values(r, t, goal.least, draws, for_next) for goal, r, t in of_goals]
            return np.max(each, axis=0)

        return np.stack([largest(self.right), largest(self.total)])

    def chosen(self, error: float, repeats: int = 1, for_next: Optional[int] = None) -> int:
        """Chooses a setting for repeated groups; -1 if none is shown to meet the goals."""
        draws = np.full((1, self.right.shape[-1]), repeats)
        return int(self.pick(self.p_values(draws, for_next), error)[0])

    def pick(self, p_values: np.ndarray, error: float) -> np.ndarray:
        """Chooses settings, (...) int64, from the result of `p_values`; -1 if none meets the goals."""
        found, least = p_values
        passes = rejected(found, self.starts, error, least)
        if self.takes_last:
            chosen = passes.shape[-1] - 1 - passes[..., ::-1].argmax(-1)
        else:
            chosen = np.where(passes, found, np.inf).argmin(-1)
        return np.where(passes.any(-1), chosen, -1)

    def with_easier(self, factor: float) -> "TriedSettings":
        """Returns the settings with goals that allow `factor` times the share of errors."""
        goals = (goal.at_least(max(1 - factor * (1 - goal.least), 0.001)) for goal in self.goals)
        return self._replace(goals=tuple(goals))


class Choice(NamedTuple):
    """One of the candidate settings."""

    tried: TriedSettings
    at: int


class Search(NamedTuple):
    """Searches for settings that meet goals."""

    # Ways to meet them, in order of preference. A way may have settings for several goals, which
    # must all succeed. The error is divided among the ways, and within each among its settings
    # (Bonferroni).
    options: Sequence[Sequence[TriedSettings]]
    error: float  # One minus the confidence
    for_next: Optional[int] = None  # The number of new groups; None for the whole distribution

    @property
    def goals(self) -> List[Goal]:
        """The goals of all settings."""
        return [goal for each in self.options[0] for goal in each.goals]

    @property
    def error_of_each(self) -> float:
        """The error allowed for the tests of each set of settings."""
        return self.error / len(self.options) / len(self.options[0])

    @property
    def num_items(self) -> int:
        """The largest denominator of a precision, recall or masked share; 0 for other goals."""
        totals = [
            int(total.sum(1).max())
            for each in self.options[0]
            for goal, total in zip(each.goals, each.total)
            if goal.measure in ("precision", "recall", "masked")
        ]
        return max(totals, default=0)

    def choose(self, factor: float = 1.0, repeats: int = 1) -> Optional[List[Choice]]:
        """Returns the settings of the first way that succeeds, or None.

        Goals allow `factor` times as many errors, and the groups are repeated.
        """
        for option in self.options:
            easier = [each if factor == 1 else each.with_easier(factor) for each in option]
            chosen = [each.chosen(self.error_of_each, repeats, self.for_next) for each in easier]
            if min(chosen) >= 0:
                return list(map(Choice, easier, chosen))
        return None

    def best_goals(self) -> Optional[List[Goal]]:
        """Returns the closest goals that the data support, or None.

        They allow the same multiple of each goal's share of errors.
        """
        low, high = 0.0, np.log(1 / min(1 - goal.least for goal in self.goals))
        if self.choose(np.exp(high)) is None:
            return None
        for _ in range(12):
            middle = (low + high) / 2
            low, high = (low, middle) if self.choose(np.exp(middle)) else (middle, high)
        choices = self.choose(np.exp(high)) or []
        goals = (goal for each, _ in choices for goal in each.goals)
        return [goal.at_least(np.floor(1e4 * goal.least) / 1e4) for goal in goals]

    def repeats_needed(self) -> Optional[int]:
        """Returns how many copies of the data would be enough; None if `MOST_REPEATS` are not."""
        found = (n for n in range(2, MOST_REPEATS + 1) if self.choose(repeats=n) is not None)
        return next(found, None)


def settings_for(
    tuner: DecodingTuner, goals: Sequence[Goal], start: Settings, groups: Groups
) -> List[List[TriedSettings]]:
    """Returns ways to meet goals, for a `Search`.

    A precision is reached by a threshold, which does not affect other labels, so each label has separate
    settings. All other goals are reached by a common bias of their labels, since a bias affects other
    labels too. If there are both, thresholds are tested under a few biases.
    Masks have a separate threshold, and cannot be combined with other goals.
    """
    if goals[0].measure in OF_MASKS:
        return [[_masks(tuner, tuple(goals), start, groups)]]
    biased = {label for goal in goals if goal.measure != "precision" for label in goal.labels}
    joint = tuple(goal for goal in goals if biased & set(goal.labels))
    single = [goal for goal in goals if goal not in joint]
    if not joint:
        return [[_thresholds(tuner, goal, start, groups) for goal in single]]
    if not single:
        return [[_biases(tuner, joint, start, groups, BIASES)]]
    options = []
    for bias in FEW_BIASES:
        under = start
        for label in sorted(biased):
            under = under.changed(label, bias)
        others = [_thresholds(tuner, goal, under, groups) for goal in single]
        options.append([_biases(tuner, joint, start, groups, [bias]), *others])
    return options


def _thresholds(tuner: DecodingTuner, goal: Goal, start: Settings, groups: Groups) -> TriedSettings:
    counts = tuner.counts_by_threshold(
        start, tuner.labels.index(goal.label), THRESHOLDS, groups.of_sentence
    )
    right, total = counts[:, np.newaxis]
    changes = [{goal.label: (None, threshold)} for threshold in THRESHOLDS]
    unchanged = THRESHOLDS.index(0)
    return TriedSettings((goal,), changes, right, total, THRESHOLD_STARTS, unchanged=unchanged)


def _biases(
    tuner: DecodingTuner,
    goals: Tuple[Goal, ...],
    start: Settings,
    groups: Groups,
    biases: Sequence[float],
) -> TriedSettings:
    labels = sorted({label for goal in goals for label in goal.labels})
    counts = []
    for bias in biases:
        settings = start
        for label in labels:
            settings = settings.changed(label, bias)
        by_group = tuner.counts_by_group(settings, groups.of_sentence)
        counts.append([goal.counts(by_group, tuner.labels) for goal in goals])
    # (right or total, G, M, groups)
    right, total = np.array(counts).transpose(2, 1, 0, 3)
    changes = [dict.fromkeys(labels, (bias, None)) for bias in biases]
    is_monotone = all(goal.measure in ("recall", "leak") for goal in goals)
    starts = [0] if len(biases) == 1 else BIAS_STARTS if is_monotone else MIDDLE_STARTS
    unchanged = list(biases).index(0) if 0 in biases else None
    return TriedSettings(goals, changes, right, total, starts, is_monotone, unchanged)


def _masks(
    tuner: DecodingTuner, goals: Tuple[Goal, ...], settings: Settings, groups: Groups
) -> TriedSettings:
    by_group = (
        tuner.masks_by_group(each, groups.of_sentence)
        for each in tuner.masks(settings, MASK_THRESHOLDS)
    )
    counts = [[goal.counts(each, tuner.labels) for goal in goals] for each in by_group]
    # (right or total, G, M, groups)
    right, total = np.array(counts).transpose(2, 1, 0, 3)
    num = len(MASK_THRESHOLDS)
    return TriedSettings(
        *(goals, [{}] * num, right, total, MASK_STARTS),
        unchanged=num - 1,
        thresholds=MASK_THRESHOLDS,
    )
