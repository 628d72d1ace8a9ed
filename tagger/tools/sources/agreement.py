"""How far sources agree: F1 of entities, and kappa and alpha of tokens.

Letters: `D` documents, `P` pairs of sources, `K` categories of tokens, `R` resamples.
"""

import itertools
import math
from collections import Counter
from typing import Dict, FrozenSet, List, NamedTuple, Optional, Sequence, Set, Tuple

import numpy as np

from tagger.data.formats import Annotation, label_sets_of
from tagger.data.formats.annotated_text import document_of
from tagger.data.sources.annotations import SourcedText
from tagger.metrics.intervals import bootstrap_intervals
from tagger.tools.reports.run_tables import Measure

#: The name of all labels together.
ALL = "all labels"
#: Who overlooks all of this many entities of a label was probably not asked for it.
FEWEST = 10
#: Beyond this number of pairs, the mean kappa has no interval.
_MOST_PAIRS = 100

Pair = Tuple[str, str]


class Agreement(NamedTuple):
    """How far sources agree about a label, or about all labels.

    Attributes:
        label: The label, or `ALL`.
        sources: The sources that are compared.
        num_texts: The texts that at least two of them have read.
        num_entities: How many entities they found there, all together.
        f1: The F1 of the entities of one source against those of another, over all pairs.
        overlapping_f1: As `f1`, but an entity counts as found if one of the same label overlaps.
        kappa: Cohen's kappa of the tokens' labels; of several pairs the mean (Light 1971).
        alpha: Krippendorff's alpha of the tokens' labels, for nominal data. All labels together are
            compared among the sources that know all of them.
    """

    label: str
    sources: Tuple[str, ...]
    num_texts: int
    num_entities: int
    f1: Measure
    overlapping_f1: Measure
    kappa: Measure
    alpha: Measure


def known_labels(texts: Sequence[SourcedText]) -> Dict[str, Set[str]]:
    """Returns the labels that each source was probably asked for.

    That are all labels, but for those that it gives nowhere, although the other readers of its texts
    found `FEWEST` entities of them, on average.
    """
    given: Dict[str, Counter[str]] = {}
    expected: Dict[str, Counter[str]] = {}
    for text in texts:
        num_others = len(text.annotations) - 1
        every = Counter(each.label for found in text.annotations.values() for each in found)
        for source, found in text.annotations.items():
            own = Counter(each.label for each in found)
            given.setdefault(source, Counter()).update(own)
            others = {label: (every[label] - own[label]) / max(1, num_others) for label in every}
            expected.setdefault(source, Counter()).update(others)
    labels = {label for own in given.values() for label in own}
    return {
        source: {label for label in labels if own[label] or expected[source][label] < FEWEST}
        for source, own in sorted(given.items())
    }


class ComparedSources:
    """Compares what sources say about texts.

    Args:
        texts: The texts.
        known: The labels that each source was asked for; by default those of `known_labels`. A source
            is never compared with others about a label that it does not know, or a text that it has not
            read.

    Attributes:
        texts: The texts, with tokens and entities that fit each other.
        known: The labels that each source was asked for.
        pairs: The pairs of sources that have read the same texts.
        labels: The labels for which two sources of a pair were asked.
        num_documents: The number of documents that two sources have read.

    Raises:
        ValueError: If no two sources have read the same text.
    """

    def __init__(
        self, texts: Sequence[SourcedText], known: Optional[Dict[str, Set[str]]] = None
    ) -> None:
        self.known = known_labels(texts) if known is None else known
        self.texts = [text.on_common_tokens(keep_overlaps=True) for text in texts]
        self._shared = [text for text in self.texts if len(text.annotations) > 1]
        if not self._shared:
            raise ValueError(_nothing_shared(texts))
        numbers: Dict[object, int] = {}
        names = (document_of(each.text) for each in self._shared)
        documents = [
            numbers.setdefault((row,) if name is None else name, len(numbers))
            for row, name in enumerate(names)
        ]
        self.num_documents = len(numbers)
        self._documents = documents
        self._document_of = np.repeat(documents, [len(t.text.tokens or []) for t in self._shared])
        self._label_sets: Dict[FrozenSet[str], int] = {}
        self._codes = {source: self._coded(source) for source in self.known}
        pairs = (itertools.combinations(sorted(t.annotations), 2) for t in self._shared)
        self.pairs: List[Pair] = sorted({*itertools.chain.from_iterable(pairs)})
        of_two = (self.known[a] & self.known[b] for a, b in self.pairs)
        self.labels: List[str] = sorted(set().union(*of_two))

    def _coded(self, source: str) -> np.ndarray:
        """Numbers the label set that a source gives each token, (N,); -1 where it has not read."""
        codes: List[int] = []
        for text, annotations in self._shared:
            if source in annotations:
                sets = label_sets_of(text._replace(entities=annotations[source]))
                numbers = self._label_sets
                codes += [numbers.setdefault(frozenset(each), len(numbers)) for each in sets]
            else:
                codes += [-1] * len(text.tokens or [])
        return np.array(codes, dtype=np.int64)

    def of_all(self) -> List[Agreement]:
        """Compares all sources: about all labels together, and then about each."""
        return [self._compared(self.pairs, label) for label in (ALL, *self.labels)]

    def of_pairs(self) -> List[Agreement]:
        """Compares each pair of sources that have read the same texts, about all labels and each."""
        return [
            self._compared([pair], label)
            for pair in self.pairs
            for label in (ALL, *sorted(self._asked(pair, ALL)))
        ]

    def _asked(self, pair: Pair, label: str) -> FrozenSet[str]:
        """Which of the labels both sources were asked for."""
        both = self.known[pair[0]] & self.known[pair[1]]
        return frozenset(both if label == ALL else both & {label})

    def _compared(self, pairs: Sequence[Pair], label: str) -> Agreement:
        asked = {pair: self._asked(pair, label) for pair in pairs}
        if label != ALL:
            asked = {pair: own for pair, own in asked.items() if own}
        sources = tuple(sorted({each for pair in asked for each in pair}))
        every = frozenset().union(*asked.values())
        entities = np.zeros((self.num_documents, 5))
        num_texts = num_entities = 0
        for document, (_, found) in zip(self._documents, self._shared):
            own = [pair for pair in asked if pair[0] in found and pair[1] in found]
            num_texts += bool(own)
            here = frozenset().union(*(asked[pair] for pair in own))
            readers = {each for pair in own for each in pair}
            num_entities += sum(e.label in here for each in readers for e in {*found[each]})
            for pair in own:
                one, other = ({e for e in found[each] if e.label in asked[pair]} for each in pair)
                entities[document] += _entity_counts(one, other)
        tokens = [self._token_counts(pair, own) for pair, own in asked.items()]
        knowing = [each for each in sources if every <= self.known[each]]
        values = _values_with_intervals(entities, tokens, self._coincidences(knowing, every))
        return Agreement(label, sources, num_texts, num_entities, *values)

    def _categories(self, sources: Sequence[str], asked: FrozenSet[str]) -> Tuple[np.ndarray, int]:
        """The category of each token by each source, (S, N), -1 where it has not read; and K."""
        numbers: Dict[FrozenSet[str], int] = {}
        table = [numbers.setdefault(each & asked, len(numbers)) for each in self._label_sets]
        codes = np.array([self._codes[each] for each in sources]).reshape(len(sources), -1)
        # At least one category, for texts without tokens
        return np.where(codes < 0, -1, np.array([*table, -1])[codes]), max(1, len(numbers))

    def _token_counts(self, pair: Pair, asked: FrozenSet[str]) -> np.ndarray:
        """(D, 2K + 1): the number of tokens with the same label, and of each label by each source."""
        codes, size = self._categories(pair, asked)
        is_read = (codes >= 0).all(0)
        documents, (one, other) = self._document_of[is_read], codes[:, is_read]
        found = np.zeros((self.num_documents, 2 * size + 1))
        np.add.at(found[:, 0], documents, one == other)
        np.add.at(found, (documents, 1 + one), 1)
        np.add.at(found, (documents, 1 + size + other), 1)
        return found

    def _coincidences(self, sources: Sequence[str], asked: FrozenSet[str]) -> np.ndarray:
        """(D, K + 1): the number of pairable values that coincide, and of those of each category."""
        codes, size = self._categories(sources, asked)
        # (K, N): how many sources give each category
        given = np.stack([(codes == category).sum(0) for category in range(size)])
        num = given.sum(0)
        given = np.where(num > 1, given, 0)
        same = (given * (given - 1)).sum(0) / np.maximum(num - 1, 1)
        found = np.zeros((self.num_documents, size + 1))
        np.add.at(found, self._document_of, np.concatenate([same[None], given]).T)
        return found


def _nothing_shared(texts: Sequence[SourcedText]) -> str:
    sources = {name: each.text for each in texts[::-1] for name in each.annotations}
    firsts = ", ".join(
        f"{name} {text.text[:30]!r} ({text.place})" for name, text in sorted(sources.items())
    )
    return (
        "no text has the annotations of two sources, so there is nothing to compare; the first texts "
        f"are {firsts or 'none'}"
    )


def _entity_counts(a: Set[Annotation], b: Set[Annotation]) -> List[int]:
    """Counts the entities of both, those of each, and those of each that one of the other overlaps."""

    def touched(own: Set[Annotation], others: Set[Annotation]) -> int:
        return sum(
            any(n == m and start < stop and begin < end for m, begin, stop in others)
            for n, start, end in own
        )

    return [len(a & b), len(a), len(b), touched(a, b), touched(b, a)]


def _values_with_intervals(
    entities: np.ndarray, tokens: Sequence[np.ndarray], coincidences: np.ndarray
) -> List[Measure]:
    """Returns both F1, the mean kappa and alpha, each with its interval."""
    has_kappa = len(tokens) <= _MOST_PAIRS
    parts = [entities, coincidences, *tokens]
    borders = np.cumsum([part.shape[1] for part in parts])[:-1]

    def measured(sums: np.ndarray) -> np.ndarray:
        own, of_alpha, *of_kappas = np.split(sums, borders, axis=1)
        kappas = [_kappa(each) for each in of_kappas] or [np.full(len(sums), math.nan)]
        with np.errstate(invalid="ignore", divide="ignore"):
            found = own[:, 1] + own[:, 2]
            f1, overlapping = 2 * own[:, 0] / found, (own[:, 3] + own[:, 4]) / found
        return np.stack([f1, overlapping, _mean(np.stack(kappas)), _alpha(of_alpha)], axis=1)

    (values,) = measured(np.concatenate([part.sum(0) for part in parts])[None])
    if not has_kappa:
        parts, borders = parts[:2], borders[:1]
    counts = np.concatenate(parts, axis=1)
    counts = counts[counts.any(1)] if counts.any() else counts
    lows, highs = bootstrap_intervals(counts, measured)
    return [
        Measure(None if math.isnan(value) else value, None if not low < high else (low, high))
        for value, low, high in zip(values.tolist(), lows.tolist(), highs.tolist())
    ]


def _mean(kappas: np.ndarray) -> np.ndarray:
    """The mean of the defined ones of (P, R) kappas; NaN without any."""
    is_defined = ~np.isnan(kappas)
    with np.errstate(invalid="ignore"):
        return np.where(is_defined, kappas, 0).sum(0) / is_defined.sum(0)


def _kappa(sums: np.ndarray) -> np.ndarray:
    """Cohen's kappa (R,) from (R, 2K + 1); NaN if both only ever give the same category."""
    same, (one, other) = sums[:, 0], np.split(sums[:, 1:], 2, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        total = one.sum(1)
        by_chance = (one * other).sum(1) / total**2
        return np.where(by_chance < 1, (same / total - by_chance) / (1 - by_chance), math.nan)


def _alpha(sums: np.ndarray) -> np.ndarray:
    """Krippendorff's alpha (R,) from (R, K + 1), the canonical form for nominal data (2004, 11.3)."""
    same, values = sums[:, 0], sums[:, 1:]
    total = values.sum(1)
    with np.errstate(invalid="ignore", divide="ignore"):
        expected = total * (total - 1) - (values * (values - 1)).sum(1)
        return np.where(expected > 0, 1 - (total - 1) * (total - same) / expected, math.nan)
