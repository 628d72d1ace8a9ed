"""Features that separate wrong labels from right ones, from taggers and other uses of the same words.

Letters: `N` items, `F` features.
"""

import math
from collections import Counter, defaultdict
from typing import Dict, Hashable, List, Optional, Sequence, Tuple

import numpy as np

from tagger.spans import Span
from tagger.tools.labels.corpus import Sentence
from tagger.tools.labels.probabilities import Item, LabelProbabilities, Place

#: Stand in for a label where words are in no entity, and where they are part of a larger one.
_OUTSIDE, _PARTLY = "O", "~"

#: How the probability of an error may change with each feature: -1 down, 1 up, 0 either way. Without
#: these constraints a classifier would learn what is only true of synthetic errors.
DIRECTIONS = (-1, 1, 1, -1, -1, -1, 0, 0, -1)


def features_of(
    items: Sequence[Item],
    taggers: LabelProbabilities,
    sentences: Sequence[Sentence],
    spans: Sequence[List[Span]],
    with_beliefs: bool = False,
) -> np.ndarray:
    """Returns the features of items, in the order of `DIRECTIONS`.

    They are (N, F). The first six are log-odds: the probability of the label; that of its best rival;
    their difference; the lowest probability of a labelled tag, which is cleanlab's score; and how often
    the same words have the same label elsewhere in the corpus and in the document. Then come whether
    the item is a possibly missed entity, and its number of tokens. The last, only with
    `with_beliefs`, is how probable the label is at other occurrences. It helps if the taggers were
    trained on another corpus. Otherwise they were trained on the labels of these very words and trust
    repeated errors.

    The labelled entities in `spans` may differ from those in `sentences`.
    """
    of_tags = taggers.of_tags(spans)
    occurrences = _Occurrences(items, taggers, sentences, spans)
    rows = []
    for item in items:
        first, last = item.place
        agreement, rivalry = _log_odds(item.agreement), _log_odds(item.rivalry)
        rows.append(
            [
                agreement,
                rivalry,
                rivalry - agreement,
                _log_odds(float(of_tags[item.sentence][first : last + 1].min())),
                *occurrences.labels(item),
                float(item.labelled is None),
                last + 1 - first,
                *([occurrences.belief(item)] if with_beliefs else []),
            ]
        )
    return np.array(rows)


class _Occurrences:
    """How other occurrences of items' words are labelled, and how probable each label is there."""

    def __init__(
        self,
        items: Sequence[Item],
        taggers: LabelProbabilities,
        sentences: Sequence[Sentence],
        spans: Sequence[List[Span]],
    ) -> None:
        self._sentences, self._spans, self._candidates = sentences, spans, taggers.candidates
        texts = {self._text(item.sentence, item.place) for item in items}
        lengths = {last + 1 - first for first, last in (item.place for item in items)}
        # By words alone, and by words and document.
        self._labels: Dict[Hashable, Counter[str]] = defaultdict(Counter)
        self._sums: Dict[Hashable, Dict[str, float]] = defaultdict(lambda: defaultdict(float))
        for number, sentence in enumerate(sentences):
            for place in (
                (first, first + length - 1)
                for length in lengths
                for first in range(len(sentence.tokens) - length + 1)
            ):
                text = self._text(number, place)
                if text in texts:
                    label, beliefs = self._label(number, place), self._beliefs(number, place)
                    for key in (text, (text, sentence.document)):
                        self._labels[key][label] += 1
                        for name, belief in beliefs.items():
                            self._sums[key][name] += belief

    def labels(self, item: Item) -> List[float]:
        """Returns how often other occurrences have the label, in the corpus and in the document."""
        text = self._text(item.sentence, item.place)
        keys = (text, (text, self._sentences[item.sentence].document))
        found = [self._labels[key] for key in keys]
        return [
            _smoothed_log_odds(each[_label_of(item)] - 1, sum(each.values()) - 1) for each in found
        ]

    def belief(self, item: Item) -> float:
        """Returns how probable the label is at other occurrences in the corpus."""
        label, text = _label_of(item), self._text(item.sentence, item.place)
        own = self._beliefs(item.sentence, item.place).get(label, 0.0)
        return _smoothed_log_odds(
            self._sums[text][label] - own, sum(self._labels[text].values()) - 1
        )

    def _text(self, number: int, place: Place) -> Tuple[Optional[str], ...]:
        """Returns the words of a place, and the label if it is in the row of a label."""
        sentence = self._sentences[number]
        return (sentence.row_label, *sentence.tokens[place[0] : place[1] + 1])

    def _label(self, number: int, place: Place) -> str:
        for label, other in self._spans[number]:
            if other == place:
                return label
            if other[0] <= place[1] and place[0] <= other[1]:
                return _PARTLY
        return _OUTSIDE

    def _beliefs(self, number: int, place: Place) -> Dict[str, float]:
        """Returns the probability of each label for these words, and roughly that of no label."""
        beliefs = {_OUTSIDE: 1.0}
        for (label, other), probability in self._candidates[number].items():
            if other == place:
                beliefs[label] = probability
            if other[0] <= place[1] and place[0] <= other[1]:
                beliefs[_OUTSIDE] = max(beliefs[_OUTSIDE] - probability, 0.0)
        return beliefs


def _label_of(item: Item) -> str:
    return item.labelled[0] if item.labelled else _OUTSIDE


def _log_odds(probability: float) -> float:
    probability = min(max(probability, 1e-6), 1 - 1e-6)
    return math.log(probability / (1 - probability))


def _smoothed_log_odds(number: float, total: int) -> float:
    return math.log((max(number, 0.0) + 0.5) / (max(total - number, 0.0) + 0.5))
