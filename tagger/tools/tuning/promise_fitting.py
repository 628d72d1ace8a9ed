"""Fits decoding settings so that shares hold with a stated confidence, and says so."""

import datetime
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
from allennlp.common.checks import ConfigurationError
from allennlp.common.file_utils import cached_path

from tagger.common.files import sha256_of_file
from tagger.common.vocabulary import check_is_label
from tagger.tools.tuning.decoding import DecodingTuner, Settings
from tagger.tools.tuning.promise_evidence import Evidence
from tagger.tools.tuning.promise_ladders import (
    BIAS_STARTS,
    BIASES,
    FEW_BIASES,
    MIDDLE_STARTS,
    THRESHOLD_STARTS,
    THRESHOLDS,
    Changes,
    Ladder,
    Search,
)
from tagger.tools.tuning.promise_record import Goal, Promise, check_labels
from tagger.tools.tuning.promises import MOST_REPEATS, p_values
from tagger.tools.tuning.units import Units, spell_units


class Fit(NamedTuple):
    """Settings that keep goals.

    Attributes:
        settings: The settings.
        promises: What they promise.
        remarks: What the data show of the tagger as it is, and what the promises cost.
    """

    settings: Settings
    promises: List[Promise]
    remarks: List[str]


def fit_promises(
    tuner: DecodingTuner,
    goals: Sequence[Goal],
    start: Settings,
    confidence: float,
    units: Units,
    path: str,
    for_next: Optional[int] = None,
) -> Fit:
    """Chooses settings that keep all goals together with this confidence.

    Args:
        tuner: Has the sentences, in the order of the file.
        goals: What to promise.
        start: The settings to change; those of labels without a goal stay.
        confidence: Above 0 and below 1.
        units: The units of the tuner's sentences.
        path: The file of the sentences.
        for_next: Promises for so many new units; None for the distribution of the data.

    Raises:
        ConfigurationError: If an argument does not fit, or the data do not support the goals. The
            message says what they support, and how many units would do.
    """
    _check(goals, confidence, for_next, tuner.labels)
    for goal in goals:
        for label in goal.labels:
            start = start.changed(label)
    options = ladders(tuner, goals, start, units)
    error = 1 - confidence
    choices = Search(options, error, for_next).choose()
    if choices is None:
        raise ConfigurationError(_refusal(options, error, units, for_next))
    about: Dict[str, Any] = {
        "confidence": confidence,
        "unit": units.unit,
        "num_units": units.num_units,
        "data": Path(path).name,
        "sha256": sha256_of_file(cached_path(path)),
        "date": datetime.date.today().isoformat(),
        "for_next": for_next,
    }
    settings, promises = start, []
    for ladder, index in choices:
        for label, (bias, threshold) in ladder.changes[index].items():
            settings = settings.changed(label, bias, threshold)
        for goal, right, total in zip(ladder.goals, ladder.right, ladder.total):
            numbers = float(right[index].sum()), float(total[index].sum())
            about["num_right"], about["num_total"] = numbers
            promises.append(Promise(goal, **about))
    evidence = Evidence(error, len(options) * len(choices), units, for_next)
    num_gold = dict(zip(tuner.labels, tuner.counts(start)[2].tolist()))
    remarks = [
        evidence.of_choice(each, num_gold[each.ladder.goals[0].labels[0]]) for each in choices
    ]
    return Fit(settings, promises, [each for each in remarks if each])


def ladders(
    tuner: DecodingTuner, goals: Sequence[Goal], start: Settings, units: Units
) -> List[List[Ladder]]:
    """Returns ways to keep goals, for a `Search`.

    A precision is reached by a threshold, which leaves other labels as they are, so each label has a
    ladder. All other goals are reached by one bias of all these labels, on one ladder, since a bias
    changes what is found of other labels. If there are both, thresholds are tested under a few
    biases.

    Args:
        tuner: Has the sentences.
        goals: What to promise.
        start: The settings of all else.
        units: The units of the tuner's sentences.
    """
    biased = {label for goal in goals if goal.measure != "precision" for label in goal.labels}
    joint = tuple(goal for goal in goals if biased & set(goal.labels))
    single = [goal for goal in goals if goal not in joint]
    if not joint:
        return [[_threshold_ladder(tuner, goal, start, units) for goal in single]]
    if not single:
        return [[_bias_ladder(tuner, joint, start, units, BIASES)]]
    options = []
    for bias in FEW_BIASES:
        under = start
        for label in sorted(biased):
            under = under.changed(label, bias)
        others = [_threshold_ladder(tuner, goal, under, units) for goal in single]
        options.append([_bias_ladder(tuner, joint, start, units, [bias]), *others])
    return options


def _threshold_ladder(tuner: DecodingTuner, goal: Goal, start: Settings, units: Units) -> Ladder:
    (label,) = goal.labels
    counts = tuner.counts_by_threshold(
        start, tuner.labels.index(label), THRESHOLDS, units.of_sentence
    )
    right, total = (each[np.newaxis] for each in counts)
    changes: List[Changes] = [{label: (None, threshold)} for threshold in THRESHOLDS]
    unchanged = THRESHOLDS.index(0)
    return Ladder((goal,), changes, right, total, THRESHOLD_STARTS, unchanged=unchanged)


def _bias_ladder(
    tuner: DecodingTuner,
    goals: Tuple[Goal, ...],
    start: Settings,
    units: Units,
    biases: Sequence[float],
) -> Ladder:
    labels = sorted({label for goal in goals for label in goal.labels})
    changes: List[Changes] = [dict.fromkeys(labels, (bias, None)) for bias in biases]
    counts = []
    for change in changes:
        settings = start
        for label, (bias, _) in change.items():
            settings = settings.changed(label, bias)
        by_unit = tuner.counts_by_unit(settings, units.of_sentence)
        counts.append([goal.counts(by_unit, tuner.labels) for goal in goals])
    # (right or total, G, M, U)
    right, total = np.array(counts).transpose(2, 1, 0, 3)
    is_monotone = all(goal.measure in ("recall", "leak") for goal in goals)
    starts = [0] if len(biases) == 1 else BIAS_STARTS if is_monotone else MIDDLE_STARTS
    unchanged = list(biases).index(0) if 0 in biases else None
    return Ladder(goals, changes, right, total, starts, is_monotone, unchanged)


def _check(
    goals: Sequence[Goal], confidence: float, for_next: Optional[int], labels: Sequence[str]
) -> None:
    if not 0 < confidence < 1:
        raise ConfigurationError(f"`--confidence` must be above 0 and below 1, got {confidence:g}")
    if for_next is not None and for_next < 1:
        raise ConfigurationError(f"`--for-next` must be at least 1, got {for_next}")
    if not goals:
        raise ConfigurationError(
            "`--confidence` promises a precision, a recall, an F score or a share of leaks; give "
            "--precision, --recall, --f-beta or --leak"
        )
    seen = set()
    for goal in goals:
        for label in goal.labels:
            check_is_label(goal.measure, label, labels, of="model")
        if not (0 < goal.level < 1 and 0 < goal.beta < np.inf):
            raise ConfigurationError(
                f"no data can promise {goal}; the number must be above 0 and below 1"
            )
        if (goal.measure, goal.labels) in seen:
            raise ConfigurationError(
                f"`{goal.measure}` names `{', '.join(goal.labels)}` twice; give one number for each"
            )
        seen.add((goal.measure, goal.labels))


def _refusal(
    options: Sequence[Sequence[Ladder]], error: float, units: Units, for_next: Optional[int]
) -> str:
    """Says which goals the data do not support, what they support, and how many data would do."""
    searches = [Search(options, error, for_next)]
    if len(options) == 1:
        each = error / len(options[0])
        searches = [Search([[ladder]], each, for_next) for ladder in options[0]]
        searches = [search for search in searches if search.choose() is None]
    parts = []
    for search in searches:
        best, repeats = search.best_goals(), search.repeats_needed()
        supported = "nothing of this kind" if best is None else f"`{' and '.join(map(str, best))}`"
        if repeats is None:
            enough = f"even {MOST_REPEATS} times as many data like these would not be enough"
        else:
            more = spell_units((repeats - 1) * units.num_units, units.unit, "more ")
            items = (repeats - 1) * search.num_items
            entities = f", with {items} entities," if items else ""
            enough = f"about {more} like these{entities} would be enough"
        wanted = " and ".join(map(str, search.goals))
        parts.append(f"do not support `{wanted}`; they do support {supported}; {enough}")
    evidence = Evidence(error, len(options[0]), units, for_next)
    shown = [evidence.as_it_is(ladder) for search in searches for ladder in search.options[0]]
    number = spell_units(units.num_units, units.unit)
    said = [f"the {number} {'; they '.join(parts)}", *filter(None, shown), "nothing is written"]
    return "; ".join(said)


def check_promises(
    promises: Sequence[Promise], tuner: DecodingTuner, settings: Settings, units: Units
) -> str:
    """Tests promises on new data, and returns a line for each that says whether the data contradict it.

    They do if the hypothesis that the promise holds has a p-value of at most .05, by the test that
    `fit_promises` uses, on what is wrong.

    Args:
        promises: The promises of a tagger.
        tuner: Has the new sentences, in the order of the file.
        settings: The settings of the tagger.
        units: The units of the sentences.

    Raises:
        ConfigurationError: If the tagger does not know a label of a promise.
    """
    check_labels(promises, tuner.labels)
    by_unit = tuner.counts_by_unit(settings, units.of_sentence)
    lines = []
    for promise in promises:
        right, total = promise.goal.counts(by_unit, tuner.labels)
        wrong = (total - right)[np.newaxis]
        p = float(p_values(wrong, total[np.newaxis], 1 - promise.goal.least)[0])
        number = spell_units(units.num_units, units.unit)
        lines.append(
            f"{promise.goal}: {right.sum():g} of {total.sum():g} in {number}; "
            f"{'contradicted' if p <= 0.05 else 'not contradicted'} (p = {p:.4f})"
        )
    return "\n".join(lines)
