"""Synthetic errors in the labels of a corpus, from which a classifier learns what errors look like."""

from collections import defaultdict
from typing import Dict, List, Optional, Sequence, Tuple

import numpy as np

from tagger.spans import Span
from tagger.tools.labels.corpus import Sentence
from tagger.tools.labels.probabilities import overlap

#: The share of entities that get an error.
RATE = 0.1
#: How often other entities of the same words get the same error, and how many at most.
_REPEATED, _MOST_REPEATED = 0.5, 20
#: How the first and the last token of an entity may move.
_SHIFTS = ((-1, 0), (1, 0), (0, -1), (0, 1))


def with_synthetic_errors(
    sentences: Sequence[Sentence], random: np.random.Generator
) -> List[List[Span]]:
    """Returns the entities of each sentence, some of them with errors of all kinds.

    Equally often an entity gets another label, gets a border that is off by a token, is taken away, or a
    capitalised word elsewhere becomes one. Half of the errors strike all entities of the same words,
    because annotators repeat theirs.
    """
    changed = [list(sentence.spans) for sentence in sentences]
    places = [(number, span) for number, own in enumerate(changed) for span in own]
    labels = [span[0] for _, span in places]
    by_text: Dict[Tuple[str, ...], List[Tuple[int, Span]]] = defaultdict(list)
    for number, span in places:
        by_text[_text(sentences[number], span)].append((number, span))
    for index in random.permutation(len(places))[: round(RATE * len(places))].tolist():
        number, span = places[index]
        label = labels[int(random.integers(len(labels)))]
        change = int(random.integers(4))
        if change == 3:
            _add(changed, sentences, label, random)
            continue
        struck = [(number, span)]
        if random.random() < _REPEATED:
            struck = by_text[_text(sentences[number], span)][:_MOST_REPEATED]
        shift = _SHIFTS[int(random.integers(4))]
        for at, each in struck:
            if each in changed[at]:
                moved = (each[1][0] + shift[0], each[1][1] + shift[1])
                new = ((label, each[1]), (each[0], moved), None)[change]
                _replace(changed[at], each, new, len(sentences[at].tokens))
    return changed


def _text(sentence: Sentence, span: Span) -> Tuple[str, ...]:
    return tuple(sentence.tokens[span[1][0] : span[1][1] + 1])


def _replace(spans: List[Span], old: Span, new: Optional[Span], num_tokens: int) -> None:
    """Replaces an entity where the new one has room."""
    others = [span for span in spans if span != old]
    if new is not None:
        first, last = new[1]
        if not 0 <= first <= last < num_tokens or any(overlap(new, span) for span in others):
            return
        others.append(new)
    spans[:] = sorted(others, key=lambda span: span[1])


def _add(
    changed: List[List[Span]],
    sentences: Sequence[Sentence],
    label: str,
    random: np.random.Generator,
) -> None:
    """Makes an entity of a capitalised word that is outside of all; gives up after some tries."""
    for _ in range(100):
        number = int(random.integers(len(sentences)))
        first = int(random.integers(len(sentences[number].tokens)))
        new = (label, (first, first))
        is_free = not any(overlap(new, span) for span in changed[number])
        if is_free and sentences[number].tokens[first][0].isupper():
            changed[number] = sorted([*changed[number], new], key=lambda span: span[1])
            return
