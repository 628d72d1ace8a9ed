"""Which questions to ask: the first ones that fit a budget, those like one before later than others.

Letters: `N` questions, `F` features.
"""

import itertools
import re
from typing import Any, Dict, List, Sequence, Tuple

import numpy as np

#: The words of a text, and the first and the last of those that a question is about.
Place = Tuple[Sequence[str], int, int]

#: How many questions are compared with those selected at a time.
_BLOCK = 256
_NUM_FEATURES = 1 << 18
#: Two questions are the same if so many words on each side are the same too.
_NUM_AROUND = 3


def select(
    scores: np.ndarray, places: Sequence[Place], budget: int, most_similar: float = 0.8
) -> List[int]:
    """Returns the indices of the questions to ask, first the one with the highest score.

    A question that resembles one before waits until all others have been asked. Then those that waited
    are gone through in the same way, and so on. The same question between the same words is asked once.
    Case does not count, and all digits are alike.

    Questions resemble each other if the cosine of their counts of words and of pairs of neighbours is
    at least `most_similar`; above 1, none do. One that needs more words than are left of `budget` is
    left out. `scores` are (N,), and `places` one word or more each.
    """
    distinct: Dict[Tuple, int] = {}
    for index in np.argsort(-scores, kind="stable").tolist():
        text, first, last = places[index]
        before, behind = text[max(first - _NUM_AROUND, 0) : first], text[last + 1 :]
        parts = before, text[first : last + 1], behind[:_NUM_AROUND]
        distinct.setdefault(tuple(tuple(_normalized(part)) for part in parts), index)
    waiting = list(distinct.values())
    words = [_normalized(text[first : last + 1]) for text, first, last in places]
    vectors = _vectors(words) if most_similar <= 1 and words else None
    sizes = [len(each) for each in words]
    selected: List[int] = []
    while waiting:
        # Rounding must not tell a question from the same one.
        own, waiting = _go_through(waiting, vectors, sizes, budget, most_similar - 1e-9)
        selected += own
        budget -= sum(sizes[index] for index in own)
    return selected


def _go_through(
    order: Sequence[int], vectors: Any, sizes: Sequence[int], budget: int, least: float
) -> Tuple[List[int], List[int]]:
    """Returns the questions to ask, and those that fit as well but are like one of these."""
    selected: List[int] = []
    waiting: List[int] = []
    for start in range(0, len(order), _BLOCK):
        block = [index for index in order[start : start + _BLOCK] if sizes[index] <= budget]
        must_wait = np.zeros(len(block), dtype=bool)
        alike = np.zeros((len(block), len(block)), dtype=bool)
        if vectors is not None and block:
            if selected:
                must_wait = (vectors[block] @ vectors[selected].T).max(1).toarray()[:, 0] >= least
            alike = (vectors[block] @ vectors[block].T).toarray() >= least
        for place, index in enumerate(block):
            if sizes[index] > budget:
                continue
            if must_wait[place]:
                waiting.append(index)
                continue
            selected.append(index)
            budget -= sizes[index]
            must_wait |= alike[place]
    return selected, waiting


def _vectors(words: Sequence[Sequence[str]]) -> Any:
    """Returns a sparse matrix, (N, F), whose rows have length 1."""
    from sklearn.feature_extraction.text import HashingVectorizer

    def words_and_pairs(words: Sequence[str]) -> List[str]:
        return [*words, *map(" ".join, itertools.pairwise(words))]

    vectorizer = HashingVectorizer(
        analyzer=words_and_pairs, n_features=_NUM_FEATURES, alternate_sign=False
    )
    return vectorizer.transform(words)


def _normalized(words: Sequence[str]) -> List[str]:
    return [re.sub(r"\d", "0", word.lower()) for word in words]
