"""What labelled data show of a tagger as it is, and what a promise about it costs, in words."""

import math

from tagger.tools.tuning.groups import Groups, spell_groups
from tagger.tools.tuning.promise_search import MOST_REPEATS, Candidates, Choice, Search
from tagger.tools.tuning.promise_tests import p_values

#: Confidences to offer in place of a higher one.
_CONFIDENCES = (0.99, 0.975, 0.95, 0.925, 0.9, 0.85, 0.8, 0.75, 0.7, 0.6, 0.5)
_COUNTED = {
    "precision": "{right:g} of the {total:g} entities that it predicts are right",
    "recall": "it finds {right:g} of the {total:g} gold entities",
}


def evidence_of(choice: Choice, search: Search, groups: Groups, num_gold: int) -> str:
    """Says what the data show of one precision or recall, and what a threshold costs; or nothing."""
    candidates, at = choice
    goal, unchanged = candidates.goals[0], candidates.unchanged
    shown = _as_it_is(candidates, search)
    if not shown or goal.measure != "precision":
        return shown
    if at == unchanged:
        return f"{shown}; its settings stay as they are"
    (right,), (total,) = candidates.right.sum(-1), candidates.total.sum(-1)
    return (
        f"{shown}. The thresholds that are tested too share this confidence, so it is not enough for "
        f"{goal.level:g}: the {total[unchanged] - total[at]:g} least probable entities are dropped, and "
        f"recall falls from {right[unchanged] / num_gold:.4f} to {right[at] / num_gold:.4f}. "
        f"{_without_threshold(candidates, search, groups)}"
    )


def refusal(search: Search, groups: Groups) -> str:
    """Says which goals the data do not support, what they support, and how many data would do."""
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


def _as_it_is(candidates: Candidates, search: Search) -> str:
    """Says what the data show of the tagger with unchanged settings."""
    goal = candidates.goals[0]
    if candidates.unchanged is None or len(candidates.goals) > 1 or goal.measure not in _COUNTED:
        return ""
    right, total = (each[:, candidates.unchanged] for each in (candidates.right, candidates.total))
    low, high = 0.0, 1.0
    for _ in range(14):
        middle = (low + high) / 2
        is_shown = p_values(right, total, middle, for_next=search.for_next)[0] <= search.error
        low, high = (middle, high) if is_shown else (low, middle)
    counted = _COUNTED[goal.measure].format(right=right.sum(), total=total.sum())
    return (
        f"{goal.label}: as the tagger is, {counted}; by themselves, they show a {goal.measure} of at "
        f"least {low:.4f} with {100 * (1 - search.error):g} % confidence"
    )


def _without_threshold(candidates: Candidates, search: Search, groups: Groups) -> str:
    """Says for which target, confidence or number of data the settings could stay."""
    (goal,) = candidates.goals

    def stays(error: float, repeats: int = 1, level: float = goal.level) -> bool:
        eased = candidates._replace(goals=(goal.at_least(level),))
        error_of_each = search._replace(error=error).error_of_each
        return eased.chosen(error_of_each, repeats, search.for_next) == candidates.unchanged

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
