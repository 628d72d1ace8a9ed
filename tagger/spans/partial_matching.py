"""Gold and predicted spans that overlap: partial matches, and positions in common. Pure functions.

Letters: `C` labels, `G` gold spans, `P` predicted spans, `E` pairs of spans that overlap.
"""

from typing import NamedTuple, Set, Tuple

import numpy as np

from tagger.spans.finding import Spans, num_before

#: What a match takes: label and boundaries, boundaries, an overlap (for half), or label and overlap.
SCHEMES = ("strict", "exact", "partial", "type")
#: What becomes of spans: pairs are correct, incorrect or partial, gold spans missed, others spurious.
OUTCOMES = ("correct", "incorrect", "partial", "missed", "spurious")


class _Pairs(NamedTuple):
    """The E pairs of a gold and a predicted span that overlap: indices, and what they have in common."""

    gold: np.ndarray
    predicted: np.ndarray
    same_label: np.ndarray
    same_place: np.ndarray
    distance: np.ndarray
    num_common: np.ndarray

    def where(self, is_kept: np.ndarray) -> "_Pairs":
        return _Pairs(*(column[is_kept] for column in self))


def count_partial_matches(gold: Spans, predicted: Spans, num_labels: int) -> np.ndarray:
    """Counts matches by the four schemes of SemEval-2013, task 9.1 (Segura-Bedmar et al. 2013).

    Each predicted span, from left to right, is paired with one free gold span that it overlaps. By
    `type` that is one of the same label, if there is any, and of these the one with the nearest
    boundaries; otherwise it is the first. So pairs are those of the package nervaluate 1.2, but one
    position in common is always an overlap.

    A label's counts hold its own spans only, as if no other label existed. So a span with the wrong
    label is spurious for one and missed for the other; by label, `exact` is the same as `strict`.

    Args:
        gold: G spans, in order; none overlaps another.
        predicted: P spans, likewise, at positions of the same tokens or characters.
        num_labels: C.

    Returns:
        (4, C + 1, 5) int64, by scheme, by label and at last for all labels together, and by outcome.
    """
    pairs = _overlapping_pairs(gold, predicted)
    alike = pairs.where(pairs.same_label)
    of_labels = _count_outcomes(alike, gold.labels, predicted.labels, num_labels)
    of_all = _count_outcomes(pairs, 0 * gold.labels, 0 * predicted.labels, 1)
    return np.concatenate([of_labels, of_all], axis=1)


def count_positions(gold: Spans, predicted: Spans, num_labels: int) -> np.ndarray:
    """Counts the positions inside spans, such as characters, by label.

    Returns:
        (3, C) int64: positions with the same label on both sides, predicted positions, and gold ones.
    """
    pairs = _overlapping_pairs(gold, predicted)
    alike = pairs.where(pairs.same_label)
    sides = [
        (gold.labels[alike.gold], alike.num_common),
        *((spans.labels, spans.ends - spans.starts + 1) for spans in (predicted, gold)),
    ]
    return np.stack(
        [
            np.bincount(labels, lengths, minlength=num_labels).astype(np.int64)
            for labels, lengths in sides
        ]
    )


def _count_outcomes(
    pairs: _Pairs, gold_rows: np.ndarray, predicted_rows: np.ndarray, num_rows: int
) -> np.ndarray:
    """Counts what becomes of spans, (4, num_rows, 5) int64, each in a row of its own."""
    first = np.zeros(len(pairs.gold), dtype=np.int64)
    nearest = np.where(pairs.same_label, pairs.distance, np.iinfo(np.int64).max)
    by_place, by_label = (pairs.where(_is_taken(pairs, costs)) for costs in (first, nearest))

    def tally(taken: _Pairs, is_correct: np.ndarray, are_halves: bool = False) -> np.ndarray:
        rows = gold_rows[taken.gold]
        num_correct, num_others, num_gold, num_predicted = (
            np.bincount(each, minlength=num_rows)
            for each in (rows[is_correct], rows[~is_correct], gold_rows, predicted_rows)
        )
        num_pairs, none = num_correct + num_others, np.zeros_like(num_others)
        others = (none, num_others) if are_halves else (num_others, none)
        outcomes = (num_correct, *others, num_gold - num_pairs, num_predicted - num_pairs)
        return np.stack(outcomes, axis=1)

    return np.stack(
        [
            tally(by_place, by_place.same_place & by_place.same_label),
            tally(by_place, by_place.same_place),
            tally(by_place, by_place.same_place, are_halves=True),
            tally(by_label, by_label.same_label),
        ]
    )


def _overlapping_pairs(gold: Spans, predicted: Spans) -> _Pairs:
    """Returns the pairs of spans that overlap, in order of predicted spans, then of gold ones."""
    # (P,), the gold spans that each predicted one overlaps
    firsts = np.searchsorted(gold.ends, predicted.starts)
    numbers = np.maximum(np.searchsorted(gold.starts, predicted.ends, side="right") - firsts, 0)
    # (E,)
    j = np.repeat(np.arange(len(numbers)), numbers)
    i = np.arange(len(j)) - num_before(numbers)[:-1][j] + firsts[j]
    begin, end = (gold.starts[i], predicted.starts[j]), (gold.ends[i], predicted.ends[j])
    distance = np.abs(begin[0] - begin[1]) + np.abs(end[0] - end[1])
    same_label = gold.labels[i] == predicted.labels[j]
    num_common = np.minimum(*end) - np.maximum(*begin) + 1
    return _Pairs(i, j, same_label, distance == 0, distance, num_common)


def _is_taken(pairs: _Pairs, costs: np.ndarray) -> np.ndarray:
    """Chooses pairs, (E,) bool: each predicted span takes the free gold span that costs least."""
    # Most pairs are alone, often all, and taken whatever the costs.
    is_taken: np.ndarray = _is_single(pairs.gold) & _is_single(pairs.predicted)
    if is_taken.all():
        return is_taken
    taken: Tuple[Set[int], Set[int]] = (set(), set())
    for pair in np.lexsort((pairs.gold, costs, pairs.predicted)).tolist():
        i, j = int(pairs.gold[pair]), int(pairs.predicted[pair])
        if not (is_taken[pair] or i in taken[0] or j in taken[1]):
            is_taken[pair] = True
            taken[0].add(i)
            taken[1].add(j)
    return is_taken


def _is_single(indices: np.ndarray) -> np.ndarray:
    is_single: np.ndarray = np.bincount(indices, minlength=1)[indices] == 1
    return is_single
