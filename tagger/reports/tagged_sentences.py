"""Sentences with gold and predicted spans, and what is right and wrong in them: pure functions."""

import random
from typing import List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from tagger.spans import Span


class TaggedSentence(NamedTuple):
    """A sentence, with the spans that it has and those that were predicted.

    Attributes:
        words: its tokens.
        gold: its gold spans, in order.
        predicted: the predicted ones, in order.
        probabilities: of the predicted ones; empty where the model gives none.
    """

    words: List[str]
    gold: List[Span]
    predicted: List[Span]
    probabilities: List[float]


class Segment(NamedTuple):
    """A stretch of a sentence.

    Attributes:
        text: its words, one blank between neighbours.
        label: of the span that it is; None between spans.
        verdict: on that span, as from `judge`; None between spans.
    """

    text: str
    label: Optional[str]
    verdict: Optional[str]


def judge(spans: Sequence[Span], others: Sequence[Span], alone: str) -> List[str]:
    """Says of each span how it agrees with the others, those predicted with the gold ones, or back.

    Args:
        spans: what to judge.
        others: what to compare with.
        alone: the word for a span that overlaps none of the others, "missed" or "spurious".

    Returns:
        For each span `right`, `wrong label`, `wrong boundary`, `wrong label and boundary` or `alone`;
        as in `tagger.spans.matching.count_span_confusions`.

    Example:
        >>> gold = [("PER", (0, 1)), ("LOC", (4, 4))]
        >>> judge([("PER", (1, 1)), ("ORG", (4, 4)), ("ORG", (6, 6))], gold, alone="spurious")
        ['wrong boundary', 'wrong label', 'spurious']
    """
    return [_verdict(span, others, alone) for span in spans]


def _verdict(span: Span, others: Sequence[Span], alone: str) -> str:
    label, (start, end) = span
    overlapping = [other for other in others if other[1][0] <= end and start <= other[1][1]]
    if span in overlapping:
        return "right"
    if any(place == (start, end) for _, place in overlapping):
        return "wrong label"
    if any(other_label == label for other_label, _ in overlapping):
        return "wrong boundary"
    return "wrong label and boundary" if overlapping else alone


def cut_into_segments(
    words: Sequence[str], spans: Sequence[Span], verdicts: Sequence[str]
) -> List[Segment]:
    """Returns a sentence in segments, each a span or what lies between two.

    Example:
        >>> cut_into_segments(["in", "New", "York"], [("LOC", (1, 2))], ["right"])[1]
        Segment(text='New York', label='LOC', verdict='right')
    """
    segments, position = [], 0
    for (label, (start, end)), verdict in zip(spans, verdicts):
        segments.append(Segment(" ".join(words[position:start]), None, None))
        segments.append(Segment(" ".join(words[start : end + 1]), label, verdict))
        position = end + 1
    segments.append(Segment(" ".join(words[position:]), None, None))
    return [segment for segment in segments if segment.text]


def sample_errors(
    sentences: Sequence[TaggedSentence], number: int, seed: int
) -> List[TaggedSentence]:
    """Draws sentences in which something is wrong; they stay in their order.

    Args:
        sentences: to draw from.
        number: how many to draw at most.
        seed: the same draws the same.
    """
    wrong = [i for i, sentence in enumerate(sentences) if sentence.gold != sentence.predicted]
    drawn = random.Random(seed).sample(wrong, min(number, len(wrong)))
    return [sentences[i] for i in sorted(drawn)]


def precision_recall_points(
    probabilities: np.ndarray, is_right: np.ndarray, num_gold: int
) -> Tuple[np.ndarray, np.ndarray]:
    """Returns precision and recall if only predictions above a threshold are kept, for each threshold.

    Args:
        probabilities: (N,), of the predictions.
        is_right: (N,) bool.
        num_gold: how many there are to find, at least one.

    Returns:
        Precision and recall, one number for each probability that occurs, the highest first; in the
        end nothing is left out.

    Example:
        >>> points = precision_recall_points(np.array([0.9, 0.5, 0.9]), np.array([1, 1, 0]), 4)
        >>> [p.round(2).tolist() for p in points]
        [[0.5, 0.67], [0.25, 0.5]]
    """
    order = np.argsort(-probabilities, kind="stable")
    num_right = np.cumsum(is_right[order])
    # Predictions of one probability come and go together.
    last_of_equals = np.flatnonzero(np.diff(probabilities[order], append=-1))
    return num_right[last_of_equals] / (last_of_equals + 1), num_right[last_of_equals] / num_gold
