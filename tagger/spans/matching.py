"""Compares gold and predicted spans: pure functions on arrays.

Letters: `K` tags, `C` labels, `S` spans, `N` tokens laid end to end.
"""

from typing import NamedTuple, Tuple

import numpy as np

from tagger.spans.finding import Spans, TagTables, find_spans, known_spans, num_before

#: What is wrong with a gold span if no predicted span has its boundaries: see `count_span_confusions`.
ERRORS_OF_GOLD = ("boundary", "both", "missed")
#: What is wrong with a predicted span if no gold span has its boundaries.
ERRORS_OF_PREDICTED = ("boundary", "both", "spurious")


class SpanMatches(NamedTuple):
    """The S predicted spans that count.

    Attributes:
        spans: The spans.
        is_right: (S,) bool, whether a gold span has the same label, start and end.
    """

    spans: Spans
    is_right: np.ndarray


def match_spans(
    tables: TagTables, predicted_tags: np.ndarray, gold_tags: np.ndarray
) -> SpanMatches:
    """Finds the predicted spans, and which of them are right.

    A span does not count if it contains a token with an unknown gold tag or lies right beside one.

    Args:
        tables: Of the K tags.
        predicted_tags: (N,) int, tag indices, as from `tagger.spans.finding.lay_end_to_end`.
        gold_tags: (N,) int, likewise, `UNKNOWN` where the tag is unknown.
    """
    spans = known_spans(find_spans(tables, predicted_tags), gold_tags)
    gold_spans = find_spans(tables, gold_tags)
    i, j = _with_same_boundaries(gold_spans, spans)
    is_right = np.zeros(len(spans.starts), dtype=bool)
    is_right[j] = gold_spans.labels[i] == spans.labels[j]
    return SpanMatches(spans, is_right)


def count_span_confusions(
    tables: TagTables, predicted_tags: np.ndarray, gold_tags: np.ndarray
) -> np.ndarray:
    """Counts spans by gold and by predicted label (the classes of Manning 2006).

    If a gold and a predicted span have the same boundaries, the pair counts once, in the row of the gold
    label and the column of the predicted one. Every other span counts by itself. It is a `boundary`
    error if it overlaps a span of its label on the other side, and `both` (boundary and label are
    wrong) if it overlaps only spans of other labels. If it overlaps none, it is `missed` (gold) or
    `spurious` (predicted). So a gold label's row adds up to its gold spans, and a predicted label's
    column to its predicted ones.

    A span, predicted or gold, does not count if it contains a token with an unknown gold tag or lies
    right beside one. So whether a span counts depends on where it lies, and never on whether it is
    right. Tags hidden at random favour neither right nor wrong spans, but they favour short ones.

    Args:
        tables: Of the K tags and C labels.
        predicted_tags: (N,) int, tag indices, as from `tagger.spans.finding.lay_end_to_end`.
        gold_tags: (N,) int, likewise, `UNKNOWN` where the tag is unknown.

    Returns:
        (C + 3, C + 3) int64: rows are the gold labels and `ERRORS_OF_PREDICTED`, columns the predicted
        labels and `ERRORS_OF_GOLD`.
    """
    num_labels, num_tokens = len(tables.labels), len(gold_tags)
    gold, predicted = find_spans(tables, gold_tags), find_spans(tables, predicted_tags)
    # (N,) each
    gold_labels, predicted_labels = (_label_of_tokens(s, num_tokens) for s in (gold, predicted))
    num_common = num_before((gold_labels >= 0) & (predicted_labels >= 0))
    num_alike = num_before((gold_labels >= 0) & (predicted_labels == gold_labels))

    def errors(spans: Spans) -> np.ndarray:
        """The error of each span, as the index of a row or column."""
        overlaps, overlaps_its_label = (
            num[spans.ends + 1] > num[spans.starts] for num in (num_common, num_alike)
        )
        return num_labels + np.where(overlaps_its_label, 0, np.where(overlaps, 1, 2))

    gold, predicted = (known_spans(spans, gold_tags) for spans in (gold, predicted))
    i, j = _with_same_boundaries(gold, predicted)
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


def _with_same_boundaries(spans: Spans, others: Spans) -> Tuple[np.ndarray, np.ndarray]:
    """Returns the indices of the pairs of spans that have the same start and the same end."""
    _, i, j = np.intersect1d(spans.starts, others.starts, assume_unique=True, return_indices=True)
    same_end = spans.ends[i] == others.ends[j]
    return i[same_end], j[same_end]


def _label_of_tokens(spans: Spans, num_tokens: int) -> np.ndarray:
    """Returns the label of the span that each token lies in, (N,), -1 outside all spans."""
    changes = np.zeros(num_tokens + 1, dtype=np.int64)
    changes[spans.starts] += spans.labels + 1
    changes[spans.ends + 1] -= spans.labels + 1
    return changes[:-1].cumsum() - 1
