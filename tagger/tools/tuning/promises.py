"""Chooses settings with a precision or recall that meets a target with a given confidence."""

import datetime
import math
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np
from allennlp.common.checks import ConfigurationError
from allennlp.common.file_utils import cached_path

from tagger.common.files import sha256_of_file
from tagger.common.ranges import check_number, check_whole
from tagger.common.vocabulary import check_is_label
from tagger.tools.tuning.decoding import DecodingTuner, Settings
from tagger.tools.tuning.goals import OF_MASKS, Goal
from tagger.tools.tuning.groups import Groups, spell_groups
from tagger.tools.tuning.promise_record import Promise, check_labels
from tagger.tools.tuning.promise_search import (
    MOST_REPEATS,
    Choice,
    Search,
    TriedSettings,
    settings_for,
)
from tagger.tools.tuning.promise_tests import p_values

#: Lower confidences to suggest.
_CONFIDENCES = (0.99, 0.975, 0.95, 0.925, 0.9, 0.85, 0.8, 0.75, 0.7, 0.6, 0.5)
_COUNTED = {
    "precision": "{right:g} of the {total:g} entities that it predicts are right",
    "recall": "it finds {right:g} of the {total:g} gold entities",
    "masked": "it masks {right:g} of the {total:g} gold entities",
}
_NOUNS = {"precision": "precision", "recall": "recall", "masked": "masked share"}


def fit_promises(
    tuner: DecodingTuner,
    goals: Sequence[Goal],
    start: Settings,
    confidence: float,
    groups: Groups,
    path: str,
    for_next: Optional[int] = None,
) -> Tuple[Settings, List[Promise], List[str]]:
    """Chooses settings that meet all goals together with this confidence.

    The tuner must have the sentences in file order. Labels without a goal keep their settings. If the
    data do not support the goals, the error says what they support and how many groups would be enough.

    Returns the settings, the promises, and remarks about the unchanged tagger and the cost of promises.
    """
    _check(goals, confidence, for_next, tuner.labels)
    for goal in goals:
        for label in goal.labels if goal.measure not in OF_MASKS else ():
            start = start.changed(label)
    search = Search(settings_for(tuner, goals, start, groups), 1 - confidence, for_next)
    choices = search.choose()
    if choices is None:
        raise ConfigurationError(refusal(search, groups))
    about: Dict[str, Any] = {
        "confidence": confidence,
        "unit": groups.kind,
        "num_units": groups.number,
        "data": Path(path).name,
        "sha256": sha256_of_file(cached_path(path)),
        "date": datetime.date.today().isoformat(),
        "for_next": for_next,
    }
    settings, promises, remarks = start, [], []
    num_gold = dict(zip(tuner.labels, tuner.counts(start)[2].tolist()))
    for choice in choices:
        tried, at = choice
        for label, (bias, threshold) in tried.changes[at].items():
            settings = settings.changed(label, bias, threshold)
        if tried.thresholds is not None:
            about["mask_threshold"] = tried.thresholds[at]
            masks = tuner.masks(start, [1.0, tried.thresholds[at]])
            remarks.append(evidence_of_masks(*(each.of_tokens for each in masks)))
        for goal, right, total in zip(tried.goals, tried.right, tried.total):
            about["num_right"], about["num_total"] = float(right[at].sum()), float(total[at].sum())
            promises.append(Promise(goal, **about))
        remarks.append(evidence_of(choice, search, groups, num_gold[tried.goals[0].label]))
    return settings, promises, [each for each in remarks if each]


def _check(
    goals: Sequence[Goal], confidence: float, for_next: Optional[int], labels: Sequence[str]
) -> None:
    check_number("--confidence", confidence, 0 < confidence < 1, "above 0 and below 1")
    if for_next is not None:
        check_whole("--for-next", for_next)
    if not goals:
        raise ConfigurationError(
            "`--confidence` promises a precision, a recall, an F score or a share of leaks or masks; "
            "give --precision, --recall, --f-beta, --leak, --unmasked or --masked"
        )
    if 0 < sum(goal.measure in OF_MASKS for goal in goals) < len(goals):
        raise ConfigurationError(
            "`--masked` and `--unmasked` go with no other target; give the others in another command"
        )
    seen = set()
    for goal in goals:
        for label in goal.labels:
            check_is_label(goal.measure, label, labels, of="model")
        if not (0 < goal.level < 1 and 0 < goal.beta < np.inf):
            raise ConfigurationError(f"{goal}: the target must be between 0 and 1, exclusive")
        if (goal.measure, goal.labels) in seen:
            raise ConfigurationError(
                f"`{goal.measure}` names `{', '.join(goal.labels)}` twice; give one number for each"
            )
        seen.add((goal.measure, goal.labels))


def check_promises(
    promises: Sequence[Promise], tuner: DecodingTuner, settings: Settings, groups: Groups
) -> str:
    """Tests promises on new data, and returns a line on whether the data contradict each.

    They do if the hypothesis that the promise holds has a p-value of at most 0.05 by the test of
    `fit_promises`, applied to the errors. The tuner must have the sentences in file order.
    """
    check_labels(promises, tuner.labels)
    of_decoding = tuner.counts_by_group(settings, groups.of_sentence)
    lines = []
    for promise in promises:
        by_group = of_decoding
        if promise.mask_threshold is not None:
            (masking,) = tuner.masks(settings, [promise.mask_threshold])
            by_group = tuner.masks_by_group(masking, groups.of_sentence)
        right, total = promise.goal.counts(by_group, tuner.labels)
        wrong = (total - right)[np.newaxis]
        p = float(p_values(wrong, total[np.newaxis], 1 - promise.goal.least)[0])
        number = spell_groups(groups.number, groups.kind)
        lines.append(
            f"{promise.goal}: {right.sum():g} of {total.sum():g} in {number}; "
            f"{'contradicted' if p <= 0.05 else 'not contradicted'} (p = {p:.4f})"
        )
    return "\n".join(lines)


def evidence_of(choice: Choice, search: Search, groups: Groups, num_gold: int) -> str:
    """Describes the evidence for one precision or recall and the cost of its threshold; may be empty."""
    tried, at = choice
    goal, unchanged = tried.goals[0], tried.unchanged
    shown = _as_it_is(tried, search)
    if not shown or goal.measure != "precision":
        return shown
    if at == unchanged:
        return f"{shown}; its settings stay as they are"
    (right,), (total,) = tried.right.sum(-1), tried.total.sum(-1)
    return (
        f"{shown}. The thresholds that are tested too share this confidence, so it is not enough for "
        f"{goal.level:g}: the {total[unchanged] - total[at]:g} least probable entities are dropped, and "
        f"recall falls from {right[unchanged] / num_gold:.4f} to {right[at] / num_gold:.4f}. "
        f"{_without_threshold(tried, search, groups)}"
    )


def refusal(search: Search, groups: Groups) -> str:
    """Says which goals the data do not support, what they support, and how much data would be enough."""
    searches = [search]
    if len(search.options) == 1:
        alone = (
            search._replace(options=[[each]], error=search.error_of_each)
            for each in search.options[0]
        )
        searches = [each for each in alone if each.choose() is None]
    number = spell_groups(groups.number, groups.kind)
    shown = [_as_it_is(each, search) for failed in searches for each in failed.options[0]]
    unsupported = "; they ".join(_unsupported(each, groups) for each in searches)
    return "; ".join([f"the {number} {unsupported}", *filter(None, shown), "nothing is written"])


def _unsupported(search: Search, groups: Groups) -> str:
    best, repeats = search.best_goals(), search.repeats_needed()
    supported = "nothing of this kind" if best is None else f"`{' and '.join(map(str, best))}`"
    if repeats is None:
        enough = f"even {MOST_REPEATS} times as many data like these would not be enough"
    else:
        more = spell_groups((repeats - 1) * groups.number, groups.kind, "more ")
        items = (repeats - 1) * search.num_items
        entities = f", with {items} entities," if items else ""
        enough = f"about {more} like these{entities} would be enough"
    wanted = " and ".join(map(str, search.goals))
    return f"do not support `{wanted}`; they do support {supported}; {enough}"


def _as_it_is(tried: TriedSettings, search: Search) -> str:
    """Describes the evidence about the tagger with unchanged settings."""
    goal = tried.goals[0]
    if tried.unchanged is None or len(tried.goals) > 1 or goal.measure not in _COUNTED:
        return ""
    right, total = (each[:, tried.unchanged] for each in (tried.right, tried.total))
    low, high = 0.0, 1.0
    for _ in range(14):
        middle = (low + high) / 2
        is_shown = p_values(right, total, middle, for_next=search.for_next)[0] <= search.error
        low, high = (middle, high) if is_shown else (low, middle)
    counted = _COUNTED[goal.measure].format(right=right.sum(), total=total.sum())
    return (
        f"{', '.join(goal.labels)}: as the tagger is, {counted}; by themselves, they show a "
        f"{_NOUNS[goal.measure]} of at least {low:.4f} with {100 * (1 - search.error):g} % confidence"
    )


def evidence_of_masks(was_masked: np.ndarray, is_masked: np.ndarray) -> str:
    """Says how many tokens are masked; the arguments are (N,) bool, for each token.

    Example:
        >>> evidence_of_masks(np.array([1, 0, 0, 0], bool), np.array([1, 1, 0, 0], bool))
        'of 1,000 tokens, 250.0 lie in predicted entities; 250.0 more must be masked, or be read'
    """
    before, more = (1_000 * each.mean() for each in (was_masked, is_masked & ~was_masked))
    return (
        f"of 1,000 tokens, {before:.1f} lie in predicted entities; {more:.1f} more must be masked, or "
        "be read"
    )


def _without_threshold(tried: TriedSettings, search: Search, groups: Groups) -> str:
    """Says for which target, confidence or amount of data the settings could stay."""
    (goal,) = tried.goals

    def stays(error: float, repeats: int = 1, level: float = goal.level) -> bool:
        eased = tried._replace(goals=(goal.at_least(level),))
        error_of_each = search._replace(error=error).error_of_each
        return eased.chosen(error_of_each, repeats, search.for_next) == tried.unchanged

    levels = ((math.floor(100 * goal.level) - step) / 100 for step in range(30))
    level = next((each for each in levels if each > 0 and stays(search.error, level=each)), None)
    lower = (each for each in _CONFIDENCES if 1 - each > search.error)
    confidence = next((each for each in lower if stays(1 - each)), None)
    times = next((n for n in range(2, MOST_REPEATS + 1) if stays(search.error, n)), None)
    remedies = [f"for a target of {level:g}"] if level else []
    remedies += [f"with --confidence {confidence:g}"] if confidence else []
    if times:
        more = spell_groups((times - 1) * groups.number, groups.kind, "more ")
        remedies.append(f"with about {more} like these")
    if not remedies:
        return "Neither less confidence nor more data like these would keep all of them"
    return f"All could stay {', or '.join(remedies)}"
