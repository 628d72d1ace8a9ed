"""Compares gold and predicted spans: pure functions on arrays."""

from typing import NamedTuple, Set, Tuple

import numpy as np

from tagger.spans.finding import Spans, TagTables, find_spans, known_spans, num_before

#: What is wrong with a gold span if no predicted span has its boundaries: see `count_span_confusions`.
ERRORS_OF_GOLD = ("boundary", "both", "missed")
#: What is wrong with a predicted span if no gold span has its boundaries.
ERRORS_OF_PREDICTED = ("boundary", "both", "spurious")
#: What a match needs: label and boundaries, boundaries, an overlap (for half), or label and overlap.
SCHEMES = ("strict", "exact", "partial", "type")
#: The outcomes: pairs are correct, incorrect or partial, gold spans missed, others spurious.
OUTCOMES = ("correct", "incorrect", "partial", "missed", "spurious")


class SpanMatches(NamedTuple):
    """The spans that gold and predicted tags spell: those that count, and all.

    A span does not count if it contains a token with an unknown gold tag or is right next to one. So
    whether a span counts depends on its place, never on whether it is right. Tags hidden at random
    favour neither right nor wrong spans, but they favour short ones.
    """

    gold: Spans
    predicted: Spans
    all_gold: Spans
    all_predicted: Spans

    def is_right(self) -> np.ndarray:
        """Whether each predicted span has the label, start and end of a gold one, (S,) bool."""
        i, j = self.with_same_boundaries()
        is_right = np.zeros(len(self.predicted.starts), dtype=bool)
        is_right[j] = self.gold.labels[i] == self.predicted.labels[j]
        return is_right

    def with_same_boundaries(self) -> Tuple[np.ndarray, np.ndarray]:
        """Returns the indices of the gold and the predicted spans of the same start and end."""
        _, i, j = np.intersect1d(
            self.gold.starts, self.predicted.starts, assume_unique=True, return_indices=True
        )
        same_end = self.gold.ends[i] == self.predicted.ends[j]
        return i[same_end], j[same_end]


def match_spans(
    tables: TagTables, predicted_tags: np.ndarray, gold_tags: np.ndarray
) -> SpanMatches:
    """Finds the spans of predicted and of gold tags, (N,) each, as from `lay_end_to_end`."""
    gold, predicted = find_spans(tables, gold_tags), find_spans(tables, predicted_tags)
    known = [known_spans(spans, gold_tags) for spans in (gold, predicted)]
    return SpanMatches(known[0], known[1], gold, predicted)


def count_span_confusions(matches: SpanMatches, num_labels: int) -> np.ndarray:
    """Counts spans by gold and by predicted label (the classes of Manning 2006).

    If a gold and a predicted span have the same boundaries, the pair counts once, in the row of the gold
    label and the column of the predicted one. Every other span counts by itself. It is a `boundary`
    error if it overlaps a span of its label on the other side, and `both` (boundary and label are
    wrong) if it overlaps only spans of other labels. If it overlaps none, it is `missed` (gold) or
    `spurious` (predicted). So a gold label's row adds up to its gold spans, and a predicted label's
    column to its predicted ones.

    Returns (C + 3, C + 3) int64: rows are the gold labels and `ERRORS_OF_PREDICTED`, columns the
    predicted labels and `ERRORS_OF_GOLD`.
    """
    gold, predicted, *everything = matches
    num_tokens = 1 + max(spans.ends.max(initial=0) for spans in everything)
    # (N,) each
    gold_labels, predicted_labels = (_label_of_tokens(spans, num_tokens) for spans in everything)
    num_common = num_before((gold_labels >= 0) & (predicted_labels >= 0))
    num_alike = num_before((gold_labels >= 0) & (predicted_labels == gold_labels))

    def errors(spans: Spans) -> np.ndarray:
        """The error of each span, as the index of a row or column."""
        overlaps, overlaps_its_label = (
            num[spans.ends + 1] > num[spans.starts] for num in (num_common, num_alike)
        )
        return num_labels + np.where(overlaps_its_label, 0, np.where(overlaps, 1, 2))

    i, j = matches.with_same_boundaries()
    columns = errors(gold)
    columns[i] = predicted.labels[j]
    is_unpaired = np.ones(len(predicted.starts), dtype=bool)
    is_unpaired[j] = False
    unpaired = predicted.where(is_unpaired)

    size = num_labels + len(ERRORS_OF_GOLD)
    cells = np.concatenate(
        [gold.labels * size + columns, errors(unpaired) * size + unpaired.labels]
    )
    return np.bincount(cells, minlength=size**2).reshape(size, size)


def _label_of_tokens(spans: Spans, num_tokens: int) -> np.ndarray:
    """Returns the label of the span that each token lies in, (N,), -1 outside all spans."""
    changes = np.zeros(num_tokens + 1, dtype=np.int64)
    changes[spans.starts] += spans.labels + 1
    changes[spans.ends + 1] -= spans.labels + 1
    return changes[:-1].cumsum() - 1


class _Pairs(NamedTuple):
    """The E pairs of a gold and a predicted span that overlap, as indices of spans, (E,) each."""

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

    Each predicted span, from left to right, is paired with one free gold span that it overlaps: by
    `type` the one of the same label with the nearest boundaries, if there is any, otherwise the first.
    These are the pairs of the package nervaluate 1.2, except that one position in common is always an
    overlap. A label's counts hold its own spans only, so a span with the wrong label is spurious for
    one label and missed for the other, and `exact` equals `strict`.

    Both sides are in order without overlaps. Returns (4, C + 1, 5) int64: scheme, label with all labels
    together last, and outcome.
    """
    pairs = _overlapping_pairs(gold, predicted)
    alike = pairs.where(pairs.same_label)
    of_labels = _count_outcomes(alike, gold.labels, predicted.labels, num_labels)
    of_all = _count_outcomes(pairs, 0 * gold.labels, 0 * predicted.labels, 1)
    return np.concatenate([of_labels, of_all], axis=1)


def count_positions(gold: Spans, predicted: Spans, num_labels: int) -> np.ndarray:
    """Counts positions in spans by label: alike on both sides, predicted, and gold, (3, C) int64."""
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
    """Counts the outcomes of spans by their rows, (4, num_rows, 5) int64."""
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
    # Most pairs, often all, have no competitor, and are taken whatever the costs.
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
