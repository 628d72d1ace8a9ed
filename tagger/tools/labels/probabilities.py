"""Taggers' probabilities for the sentences of a corpus, independent of its labels.

Letters: `B` sentences of a batch, `S` sentences, `T` tokens, `K` tags, `N` entities.
"""

from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence

from tagger.linear_chain import ChainScores, log_likelihood, span_log_probabilities, tag_marginals
from tagger.spans import Span, infer_encoding, spans_to_tags
from tagger.spans.entities import Entities, EntityFinder
from tagger.tools.labels.out_of_fold import SentenceScores

#: The first and the last token of an entity.
Place = Tuple[int, int]

#: Less probable entities are ignored.
_LEAST_PROBABILITY = 0.01
#: The most rows of a batch: at least this many, and more if they are short.
_BATCH_SIZE = 64
_BATCH_TOKENS = 4096


class Item(NamedTuple):
    """A labelled entity, or one that may have been missed."""

    sentence: int  # The index of its sentence
    labelled: Optional[Span]  # The labelled entity; None if one may have been missed
    # The most probable alternative for these tokens; None if that is no entity.
    suggested: Optional[Span]
    agreement: float  # The exact probability of the label
    rivalry: float  # The exact probability of the suggestion
    presence: float  # The exact probability that any of its tokens is in an entity

    @property
    def place(self) -> Place:
        """The tokens of the labelled or possibly missed entity."""
        span = self.labelled or self.suggested
        assert span is not None
        return span[1]

    @property
    def kind(self) -> str:
        """The kind of error, if it is one."""
        if self.labelled is None:
            return "missed"
        if self.suggested is None:
            return "spurious"
        return "wrong label" if self.labelled[1] == self.suggested[1] else "boundary"


class LabelProbabilities:
    """Taggers' exact probabilities of entities, of no entity and of tags.

    Each of `parts` has indices of sentences and their scores; together they cover the corpus.
    `candidates` has the probable entities of each sentence with their probabilities, and `marginals`
    the probability of each tag at each token, (T, K) for each sentence.
    """

    def __init__(self, parts: Sequence[Tuple[Sequence[int], SentenceScores]]) -> None:
        self._tags: List[str] = parts[0][1].tags.tolist()
        self._encoding = infer_encoding(self._tags) or "BIO"
        self._finder = EntityFinder(self._tags, self._encoding)
        num_sentences = sum(len(numbers) for numbers, _ in parts)
        self.candidates: List[Dict[Span, float]] = [{} for _ in range(num_sentences)]
        self.marginals = [np.empty(0)] * num_sentences
        self._batches = [
            batch
            for numbers, scores in parts
            for batch in _batches(numbers, scores.ordered(self._tags))
        ]
        for numbers, chain, mask in self._batches:
            found, probabilities = self._finder.candidates(chain, _LEAST_PROBABILITY, mask)
            for label, row, first, last, probability in zip(*found, probabilities.tolist()):
                span = self._finder.labels[label], (int(first), int(last))
                self.candidates[numbers[row]][span] = probability
            marginals = tag_marginals(chain, mask).numpy()
            for number, row, length in zip(numbers, marginals, mask.sum(1).tolist()):
                self.marginals[number] = row[:length]

    def items(self, spans: Sequence[List[Span]]) -> List[Item]:
        """Returns the labelled entities of each sentence and those that may have been missed."""
        missed = [_missed(each, own) for each, own in zip(self.candidates, spans)]
        right, outside = self._of_spans([[*own, *more] for own, more in zip(spans, missed)])
        items = []
        for number, candidates in enumerate(self.candidates):
            own = spans[number]
            for span, agreement, of_none in zip(own, right[number], outside[number]):
                rivals: List[Tuple[float, Optional[Span]]] = [(of_none, None)]
                rivals += [
                    (candidates[each], each)
                    for each in candidates
                    if each != span and overlap(each, span)
                ]
                rivalry, suggested = max(rivals, key=lambda rival: rival[0])
                items.append(Item(number, span, suggested, agreement, rivalry, 1 - of_none))
            for span, of_none in zip(missed[number], outside[number][len(own) :]):
                items.append(Item(number, None, span, of_none, candidates[span], 1 - of_none))
        return items

    def of_tags(self, spans: Sequence[List[Span]]) -> List[np.ndarray]:
        """Returns the probability of the labelled tag of each token, (T,) for each sentence."""
        return [
            marginals[np.arange(len(tags)), tags]
            for marginals, tags in zip(self.marginals, self.tag_indices(spans))
        ]

    def log_likelihoods(self, spans: Sequence[List[Span]]) -> np.ndarray:
        """Returns the log-probability of the labels of each sentence, (S,)."""
        indices = self.tag_indices(spans)
        found = np.zeros(len(spans))
        for numbers, chain, mask in self._batches:
            rows = [torch.tensor(indices[number]) for number in numbers]
            tags = pad_sequence(rows, batch_first=True)
            found[numbers] = log_likelihood(chain, tags, mask).numpy()
        return found

    def tag_indices(self, spans: Sequence[List[Span]]) -> List[List[int]]:
        """Returns the index of the labelled tag of each token, a column of `marginals`."""
        index = {tag: k for k, tag in enumerate(self._tags)}
        return [
            [index[tag] for tag in spans_to_tags(own, len(marginals), self._encoding)]
            for own, marginals in zip(spans, self.marginals)
        ]

    def _of_spans(self, spans: Sequence[List[Span]]) -> Tuple[List[List[float]], List[List[float]]]:
        """Returns, by sentence, the probability of each entity and that none of its tokens is in any."""
        label_of = {label: i for i, label in enumerate(self._finder.labels)}
        is_outside = torch.tensor([tag == "O" for tag in self._tags])
        entities: List[List[float]] = [[] for _ in spans]
        outside: List[List[float]] = [[] for _ in spans]
        for numbers, chain, mask in self._batches:
            flat = [
                (label_of[label], row, *place)
                for row, number in enumerate(numbers)
                for label, place in spans[number]
            ]
            if not flat:
                continue
            columns = np.array(flat, dtype=np.int64)
            right = self._finder.probabilities(chain, Entities(*columns.T), mask)
            places = torch.from_numpy(columns[:, 1:])
            # (N,), (N, W)
            offsets = places[:, 2] - places[:, 1]
            is_inside = torch.arange(int(offsets.max()) + 1) <= offsets.unsqueeze(1)
            allowed = is_outside & is_inside.unsqueeze(2)
            none = span_log_probabilities(chain, places, allowed, mask).exp()
            for (_, row, *_), *values in zip(flat, right.tolist(), none.tolist()):
                for found, value in zip((entities, outside), values):
                    found[numbers[row]].append(value)
        return entities, outside


def overlap(one: Span, other: Span) -> bool:
    """Whether two entities share a token.

    Example:
        >>> overlap(("PER", (0, 2)), ("LOC", (2, 2))), overlap(("PER", (0, 1)), ("LOC", (2, 2)))
        (True, False)
    """
    return one[1][0] <= other[1][1] and other[1][0] <= one[1][1]


def _missed(candidates: Dict[Span, float], labelled: Sequence[Span]) -> List[Span]:
    """Returns the most probable entities that overlap neither labelled ones nor each other."""
    chosen: List[Span] = []
    for span in sorted(candidates, key=lambda each: -candidates[each]):
        if not any(overlap(span, other) for other in (*labelled, *chosen)):
            chosen.append(span)
    return sorted(chosen, key=lambda span: span[1])


def _batches(
    numbers: Sequence[int], scores: SentenceScores
) -> Iterator[Tuple[List[int], ChainScores, torch.Tensor]]:
    """Yields batches of sentences of similar lengths: indices, chains in float64, and mask, (B, T)."""
    rows = torch.from_numpy(scores.emissions).double().split(scores.lengths.tolist())
    rest = [torch.from_numpy(each).double() for each in scores[3:6]]
    order = np.argsort(scores.lengths, kind="stable").tolist()
    start = 0
    while start < len(order):
        # The longest of so many rows is at least as long as the first.
        size = max(_BATCH_SIZE, _BATCH_TOKENS // max(1, int(scores.lengths[order[start]])))
        own = order[start : start + size]
        start += len(own)
        lengths = torch.from_numpy(scores.lengths[own])
        mask = torch.arange(int(lengths.max())) < lengths.unsqueeze(1)
        emissions = pad_sequence([rows[index] for index in own], batch_first=True)
        yield [numbers[index] for index in own], ChainScores(emissions, *rest), mask
