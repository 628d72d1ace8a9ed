"""Which questions to ask: the first ones that fit a budget, none nearly like one before.

Letters: `N` questions, `F` features.
"""

import itertools
import re
from typing import Any, List, Sequence

import numpy as np

#: How many questions are compared with those chosen at a time.
_BLOCK = 256
_NUM_FEATURES = 1 << 18


def choose(
    scores: np.ndarray, words: Sequence[Sequence[str]], budget: int, most_similar: float = 0.8
) -> List[int]:
    """Returns the indices of the questions to ask, first the one with the highest score.

    Args:
        scores: (N,).
        words: The words of each question, at least one.
        budget: How many words are asked for at most. A question that does not fit is left out, and
            others are looked at.
        most_similar: A question is left out if it is at least so similar to one before: the cosine of
            their counts of words and of pairs of neighbours, in lower case and with all digits alike.
            Above 1 nothing is left out.
    """
    order = np.argsort(-scores, kind="stable").tolist()
    vectors = _vectors(words) if most_similar <= 1 and words else None
    chosen: List[int] = []
    for start in range(0, len(order), _BLOCK):
        block = [index for index in order[start : start + _BLOCK] if len(words[index]) <= budget]
        is_left_out = np.zeros(len(block), dtype=bool)
        alike = np.zeros((len(block), len(block)), dtype=bool)
        if vectors is not None and block:
            # Rounding must not tell a question from the same one.
            least = most_similar - 1e-9
            if chosen:
                of_chosen = (vectors[block] @ vectors[chosen].T).max(1).toarray()[:, 0]
                is_left_out |= of_chosen >= least
            alike = (vectors[block] @ vectors[block].T).toarray() >= least
        for place, index in enumerate(block):
            if not is_left_out[place] and len(words[index]) <= budget:
                chosen.append(index)
                budget -= len(words[index])
                is_left_out |= alike[place]
    return chosen


def _vectors(words: Sequence[Sequence[str]]) -> Any:
    """Returns a sparse matrix, (N, F), whose rows have length 1."""
    from sklearn.feature_extraction.text import HashingVectorizer

    vectorizer = HashingVectorizer(
        analyzer=_features, n_features=_NUM_FEATURES, alternate_sign=False
    )
    return vectorizer.transform(words)


def _features(words: Sequence[str]) -> List[str]:
    lower = [re.sub(r"\d", "0", word.lower()) for word in words]
    return lower + [f"{first} {second}" for first, second in itertools.pairwise(lower)]
