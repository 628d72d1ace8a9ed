"""Promises: settings whose precision or recall meets a target with a given confidence."""

import datetime
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

import numpy as np
from allennlp.common.checks import ConfigurationError
from allennlp.common.file_utils import cached_path

from tagger.common.files import sha256_of_file
from tagger.common.vocabulary import check_is_label
from tagger.tools.tuning.decoding import DecodingTuner, Settings
from tagger.tools.tuning.goals import Goal
from tagger.tools.tuning.groups import Groups, spell_groups
from tagger.tools.tuning.promise_evidence import evidence_of, refusal
from tagger.tools.tuning.promise_record import Promise, check_labels
from tagger.tools.tuning.promise_search import Search, candidates_for
from tagger.tools.tuning.promise_tests import p_values


class Fit(NamedTuple):
    """Settings that keep goals."""

    settings: Settings  # The settings
    promises: List[Promise]  # What they promise
    remarks: List[str]  # What the data show of the tagger as it is, and what the promises cost


def fit_promises(
    tuner: DecodingTuner,
    goals: Sequence[Goal],
    start: Settings,
    confidence: float,
    groups: Groups,
    path: str,
    for_next: Optional[int] = None,
) -> Fit:
    """Chooses settings that keep all goals together with this confidence.

    The tuner has the sentences in the order of the file. Settings of labels without a goal stay. With
    `for_next`, the promises are for so many new groups. If the data do not support the goals, the error
    says what they support, and how many groups would do.
    """
    _check(goals, confidence, for_next, tuner.labels)
    for goal in goals:
        for label in goal.labels:
            start = start.changed(label)
    search = Search(candidates_for(tuner, goals, start, groups), 1 - confidence, for_next)
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
        candidates, at = choice
        for label, (bias, threshold) in candidates.changes[at].items():
            settings = settings.changed(label, bias, threshold)
        for goal, right, total in zip(candidates.goals, candidates.right, candidates.total):
            about["num_right"], about["num_total"] = float(right[at].sum()), float(total[at].sum())
            promises.append(Promise(goal, **about))
        remarks.append(evidence_of(choice, search, groups, num_gold[candidates.goals[0].label]))
    return Fit(settings, promises, [each for each in remarks if each])


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


def check_promises(
    promises: Sequence[Promise], tuner: DecodingTuner, settings: Settings, groups: Groups
) -> str:
    """Tests promises on new data, and returns a line for each that says whether the data contradict it.

    They do if the hypothesis that the promise holds has a p-value of at most 0.05, by the test that
    `fit_promises` uses, on what is wrong. The tuner has the sentences in the order of the file.
    """
    check_labels(promises, tuner.labels)
    by_group = tuner.counts_by_group(settings, groups.of_sentence)
    lines = []
    for promise in promises:
        right, total = promise.goal.counts(by_group, tuner.labels)
        wrong = (total - right)[np.newaxis]
        p = float(p_values(wrong, total[np.newaxis], 1 - promise.goal.least)[0])
        number = spell_groups(groups.number, groups.kind)
        lines.append(
            f"{promise.goal}: {right.sum():g} of {total.sum():g} in {number}; "
            f"{'contradicted' if p <= 0.05 else 'not contradicted'} (p = {p:.4f})"
        )
    return "\n".join(lines)
