"""Compares gold and predicted spans and labels, sentence by sentence: pure functions."""

import random
from typing import Dict, FrozenSet, Iterable, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from tagger.spans import Span
from tagger_texts.segments import join_words

RIGHT = "right"


class TaggedSentence(NamedTuple):
    """A sentence with gold and predicted spans."""

    words: List[str]
    gold: List[Span]
    predicted: List[Span]
    probabilities: List[float]


class Note(NamedTuple):
    """What is shown about a label at one place."""

    label: str
    verdict: str  # `right`, or the kind of error: see `verdict`
    # The model's probability of this label at exactly this place; None if unavailable.
    probability: Optional[float]


class MarkedText(NamedTuple):
    """A part of a sentence."""

    text: str  # As `join_words` joins the words, with the blanks beside marked places
    # One for a span, none for text between spans, and any number for a token that may have several
    # labels.
    notes: List[Note]


class Example(NamedTuple):
    """A sentence or document with errors, as the page shows it."""

    # What to show, by the name of the line, such as `gold` and `predicted`. Spans that overlap others
    # have more lines, such as `gold, overlapping`.
    lines: Dict[str, List[MarkedText]]

    def errors(self) -> FrozenSet[Tuple[str, str]]:
        """Returns pairs of a label and its kind of error."""
        return frozenset((note.label, note.verdict) for _, note in self._wrong())

    def surprise(self) -> float:
        """Returns how confident the model is in its most confident error, from 0 to 1.

        This is the largest probability of a wrong prediction, or of the absence of a missed label.
        """
        return max(
            (
                1 - note.probability
                if side.startswith("gold") or note.verdict == "missed"
                else note.probability
                for side, note in self._wrong()
                if note.probability is not None
            ),
            default=0.0,
        )

    def _wrong(self) -> Iterable[Tuple[str, Note]]:
        for side, parts in self.lines.items():
            for part in parts:
                for note in part.notes:
                    if note.verdict != RIGHT:
                        yield side, note


def verdict(span: Span, others: Sequence[Span], alone: str) -> str:
    """Compares a predicted span with gold ones, or a gold span with predicted ones.

    Returns `right`, `wrong label`, `wrong boundary` or `wrong label and boundary`, as in
    `tagger.spans.matching.count_span_confusions`; or `alone`, such as `missed`, without an overlap.

    Example:
        >>> gold = [("PER", (0, 1)), ("LOC", (4, 4))]
        >>> verdict(("PER", (1, 1)), gold, "spurious"), verdict(("ORG", (6, 6)), gold, "spurious")
        ('wrong boundary', 'spurious')
    """
    label, (start, end) = span
    overlapping = [other for other in others if other[1][0] <= end and start <= other[1][1]]
    if span in overlapping:
        return RIGHT
    if any(place == (start, end) for _, place in overlapping):
        return "wrong label"
    if any(other_label == label for other_label, _ in overlapping):
        return "wrong boundary"
    return "wrong label and boundary" if overlapping else alone


def example_of_spans(
    sentence: TaggedSentence,
    gold_probabilities: Sequence[Optional[float]] = (),
    only_errors: bool = False,
    by_label: bool = False,
) -> Example:
    """Returns a sentence as two lines, gold and predicted, with a verdict on each span.

    With `only_errors`, only wrong spans are marked; use it if every token has a tag. With `by_label`,
    spans are compared only with those of their label. Spans that overlap get further lines.
    """
    words, gold, predicted, probabilities = sentence
    lines = {}
    for side, spans, others, alone, numbers in (
        ("gold", gold, predicted, "missed", gold_probabilities),
        ("predicted", predicted, gold, "spurious", probabilities),
    ):
        notes = [
            Note(
                span[0],
                verdict(span, [o for o in others if not by_label or o[0] == span[0]], alone),
                number,
            )
            for span, number in zip(spans, numbers or [None] * len(spans))
        ]
        marked = [i for i, note in enumerate(notes) if not (only_errors and note.verdict == RIGHT)]
        for number, layer in enumerate(layers([spans[i][1] for i in marked])):
            name = f"{side}, overlapping{f' {number}' if number > 1 else ''}" if number else side
            own = [marked[place] for place in layer]
            lines[name] = marked_texts(words, [spans[i][1] for i in own], [[notes[i]] for i in own])
    return Example(lines)


def layers(places: Sequence[Tuple[int, int]]) -> List[List[int]]:
    """Divides places, in order, into as few lists as may be so that none in a list overlap.

    Returns their indices; the first list may be empty.

    Example:
        >>> layers([(0, 5), (2, 3), (6, 6)])
        [[0, 2], [1]]
    """
    found: List[List[int]] = [[]]
    for index, (start, _) in enumerate(places):
        free = (layer for layer in found if not layer or places[layer[-1]][1] < start)
        layer = next(free, None)
        if layer is None:
            found.append([index])
        else:
            layer.append(index)
    return found


def marked_texts(
    words: Sequence[str], places: Sequence[Tuple[int, int]], notes: Sequence[List[Note]]
) -> List[MarkedText]:
    """Cuts a sentence into marked places and the text between them.

    Example:
        >>> marked_texts(["in", "New", "York"], [(1, 2)], [[Note("LOC", "right", 0.9)]])[1]
        MarkedText(text='New York', notes=[Note(label='LOC', verdict='right', probability=0.9)])
    """
    text, starts = join_words(words)
    parts, position = [], 0
    for (start, end), of_place in zip(places, notes):
        begin, after = starts[start], starts[end] + len(words[end])
        parts += [MarkedText(text[position:begin], []), MarkedText(text[begin:after], of_place)]
        position = after
    parts.append(MarkedText(text[position:], []))
    return [part for part in parts if part.text]


def notes_on_labels(
    labels: Sequence[str], gold: np.ndarray, is_predicted: np.ndarray, probabilities: np.ndarray
) -> List[Note]:
    """Returns a note on each label of an item that is gold or predicted.

    `gold`, (C,), is 1 if the item has the label, 0 if not, and -1 if unknown, which gives no note.

    Example:
        >>> notes_on_labels(["A", "B"], np.array([1, 0]), np.array([False, False]), np.array([0.2, 0.1]))
        [Note(label='A', verdict='missed', probability=0.2)]
    """
    is_noted = (gold > 0) | is_predicted & (gold == 0)
    return [
        Note(
            labels[c],
            RIGHT if gold[c] == is_predicted[c] else "missed" if gold[c] else "spurious",
            float(probabilities[c]),
        )
        for c in np.flatnonzero(is_noted).tolist()
    ]


def sample_errors(
    errors: Sequence[FrozenSet[Tuple[str, str]]], number: int, seed: int
) -> List[int]:
    """Draws sentences at random, covering each label and kind of error as far as there is room."""
    order = random.Random(seed).sample(range(len(errors)), len(errors))
    seen: FrozenSet[Tuple[str, str]] = frozenset()
    first: List[int] = []
    others: List[int] = []
    for i in order:
        (first if errors[i] - seen else others).append(i)
        seen |= errors[i]
    return sorted([*first, *others][:number])


def precision_recall_points(
    probabilities: np.ndarray, is_right: np.ndarray, num_gold: int
) -> Tuple[np.ndarray, np.ndarray]:
    """Returns precision and recall at every threshold on the predictions' probabilities.

    Both have one number per distinct probability. Thresholds decrease, so the last number counts all
    predictions. `probabilities` and `is_right` are (N,), and there must be at least one gold item.

    Example:
        >>> points = precision_recall_points(np.array([0.9, 0.5, 0.9]), np.array([1, 1, 0]), 4)
        >>> [p.round(2).tolist() for p in points]
        [[0.5, 0.67], [0.25, 0.5]]
    """
    order = np.argsort(-probabilities, kind="stable")
    num_right = np.cumsum(is_right[order])
    # A threshold keeps either all predictions of equal probability or none.
    last_of_equals = np.flatnonzero(np.diff(probabilities[order], append=-1))
    return num_right[last_of_equals] / (last_of_equals + 1), num_right[last_of_equals] / num_gold
