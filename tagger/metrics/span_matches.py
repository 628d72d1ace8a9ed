"""Which predicted spans are right: pure functions on arrays.

Letters: `K` tags, `S` spans, `N` tokens laid end to end.
"""

from typing import NamedTuple

import numpy as np

from tagger.metrics.span_counts import Spans, TagTables, find_spans, known_spans


class SpanMatches(NamedTuple):
    """The S predicted spans that count.

    Attributes:
        spans: where they are.
        is_right: (S,) bool, for each whether a gold span has its label, its start and its end.
    """

    spans: Spans
    is_right: np.ndarray


def match_spans(tables: TagTables, predicted: np.ndarray, gold: np.ndarray) -> SpanMatches:
    """Finds the predicted spans, and which of them are right.

    A span that holds a token of unknown gold tag, or lies right beside one, does not count.

    Args:
        tables: Of the K tags.
        predicted: (N,) int, tag indices, as from `tagger.metrics.span_counts.lay_end_to_end`.
        gold: (N,) int, likewise, `UNKNOWN` where the tag is not known.
    """
    spans = known_spans(find_spans(tables, predicted), gold)
    gold_spans = find_spans(tables, gold)
    label_at, end_at = np.full((2, len(gold)), -1)
    label_at[gold_spans.starts], end_at[gold_spans.starts] = gold_spans.labels, gold_spans.ends
    is_right = (label_at[spans.starts] == spans.labels) & (end_at[spans.starts] == spans.ends)
    return SpanMatches(spans, is_right)
