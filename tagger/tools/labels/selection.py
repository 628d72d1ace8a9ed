"""Selects questions within a budget, and postpones those that resemble earlier ones.

Letters: `N` questions, `F` features.
"""

import itertools
import re
from typing import Any, Dict, List, Sequence, Tuple

import numpy as np

#: The words of a text, and the first and last word of a question about it.
Place = Tuple[Sequence[str], int, int]

#: How many questions are compared with the selected ones at a time.
_BLOCK = 256
_NUM_FEATURES = 1 << 18
#: Two questions are the same only if this many words on either side are the same too.
_NUM_AROUND = 3


def select(
    scores: np.ndarray, places: Sequence[Place], budget: int, most_similar: float = 0.8
) -> List[int]:
    """Returns the indices of the questions to ask, starting with the highest score.

    A question that resembles an earlier one is postponed until all others have been asked. Postponed
    questions are then processed in the same way, and so on. A question that occurs several times
    between the same words is asked once. Case is ignored, and all digits are treated alike.

    Two questions resemble each other if the cosine similarity of their counts of words and pairs of
    neighbouring words is at least `most_similar`; above 1, none do. A question with more words than are
    left of `budget` is skipped. `scores` are (N,), and each of `places` has at least one word.
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
        # The tolerance keeps rounding from making identical questions differ.
        own, waiting = _go_through(waiting, vectors, sizes, budget, most_similar - 1e-9)
        selected += own
        budget -= sum(sizes[index] for index in own)
    return selected


def _go_through(
    order: Sequence[int], vectors: Any, sizes: Sequence[int], budget: int, least: float
) -> Tuple[List[int], List[int]]:
    """Returns the questions to ask, and those that would fit but resemble one of these."""
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
    """Returns a sparse matrix, (N, F), with rows of length 1."""
    from sklearn.feature_extraction.text import HashingVectorizer

    def words_and_pairs(words: Sequence[str]) -> List[str]:
        return [*words, *map(" ".join, itertools.pairwise(words))]

    vectorizer = HashingVectorizer(
        analyzer=words_and_pairs, n_features=_NUM_FEATURES, alternate_sign=False
    )
    return vectorizer.transform(words)


def _normalized(words: Sequence[str]) -> List[str]:
    return [re.sub(r"\d", "0", word.lower()) for word in words]
