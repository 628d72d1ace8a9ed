"""Compares gold and predicted spans of sentences: pure functions."""

import random
from typing import List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from tagger.spans import Span


class TaggedSentence(NamedTuple):
    """A sentence with its gold and its predicted spans.

    Attributes:
        words: The tokens.
        gold: The gold spans, in order.
        predicted: The predicted spans, in order.
        probabilities: The probabilities of the predicted spans; empty if the model gives none.
    """

    words: List[str]
    gold: List[Span]
    predicted: List[Span]
    probabilities: List[float]


class Segment(NamedTuple):
    """A part of a sentence: a span, or the words between two spans.

    Attributes:
        text: The words, joined by single blanks.
        label: The span's label; None between spans.
        verdict: The verdict of `judge` on the span; None between spans.
    """

    text: str
    label: Optional[str]
    verdict: Optional[str]


def judge(spans: Sequence[Span], others: Sequence[Span], alone: str) -> List[str]:
    """Compares predicted spans with gold ones, or gold spans with predicted ones.

    Args:
        spans: The spans to judge.
        others: The spans to compare them with.
        alone: The verdict on a span that overlaps none of the others, "missed" or "spurious".

    Returns:
        A verdict per span: `right`, `wrong label`, `wrong boundary`, `wrong label and boundary`, or the
        value of `alone`. The distinctions are those of `tagger.spans.matching.count_span_confusions`.

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
    """Cuts a sentence into spans and the words between them.

    Args:
        words: The sentence's tokens.
        spans: Its spans, in order.
        verdicts: A verdict per span.

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
    """Draws sentences with errors at random and keeps their order.

    Args:
        sentences: The sentences to draw from.
        number: The largest number of sentences to draw.
        seed: The seed of the draw.
    """
    wrong = [i for i, sentence in enumerate(sentences) if sentence.gold != sentence.predicted]
    drawn = random.Random(seed).sample(wrong, min(number, len(wrong)))
    return [sentences[i] for i in sorted(drawn)]


def precision_recall_points(
    probabilities: np.ndarray, is_right: np.ndarray, num_gold: int
) -> Tuple[np.ndarray, np.ndarray]:
    """Returns precision and recall at every threshold on the predictions' probabilities.

    Args:
        probabilities: (N,) the probabilities of the predictions.
        is_right: (N,) bool, whether each prediction is right.
        num_gold: The number of gold items, at least 1.

    Returns:
        Precision and recall, each with one number per distinct probability. Thresholds fall, so the last
        number counts all predictions.

    Example:
        >>> points = precision_recall_points(np.array([0.9, 0.5, 0.9]), np.array([1, 1, 0]), 4)
        >>> [p.round(2).tolist() for p in points]
        [[0.5, 0.67], [0.25, 0.5]]
    """
    order = np.argsort(-probabilities, kind="stable")
    num_right = np.cumsum(is_right[order])
    # A threshold keeps all predictions of equal probability, or none.
    last_of_equals = np.flatnonzero(np.diff(probabilities[order], append=-1))
    return num_right[last_of_equals] / (last_of_equals + 1), num_right[last_of_equals] / num_gold
