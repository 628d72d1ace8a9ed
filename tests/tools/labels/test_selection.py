"""The first questions that fit a budget are selected, and the same are not asked again."""

import numpy as np
import pytest

from tagger.tools.labels.selection import select

WORDS = ["1 - 0", "2 - 5", "a b c", "a b d", "A B C", "e f g h i j"]


@pytest.mark.parametrize(
    ("budget", "most_similar", "expected"),
    [
        # Digits are alike, and so are capitals: two of the six are asked before.
        (100, 0.8, [5, 4, 3, 1]),
        # `a b c` and `a b d` have a cosine of 3 / 5.
        (100, 0.5, [5, 4, 1, 3]),
        # What does not fit is left out, and what does is looked for.
        (5, 0.8, [4]),
        (8, 2.0, [5]),
        (0, 0.8, []),
    ],
)
def test_the_first_that_fit_and_are_new_are_chosen(budget, most_similar, expected):
    places = [whole(each) for each in WORDS]
    assert select(np.arange(6.0), places, budget, most_similar) == expected


def whole(sentence):
    words = sentence.split()
    return words, 0, len(words) - 1


def test_the_same_words_wait_until_all_others_are_asked_and_must_stand_elsewhere():
    texts = ["in Rom today", "in ROM today", "of Rom", "Oslo", "from Rom to Rom"]
    places = [(text.split(), *at) for text, at in zip(texts, [(1, 1)] * 3 + [(0, 0), (1, 1)])]
    places.append((texts[4].split(), 3, 3))
    scores = np.array([6.0, 5, 4, 1, 3, 2])
    assert select(scores, places, 100) == [0, 3, 2, 4, 5]
    assert select(scores, places, 3) == [0, 3, 2]
    assert select(scores, places, 100, 2.0) == [0, 2, 4, 5, 3]


def test_a_question_is_compared_with_all_before(monkeypatch):
    monkeypatch.setattr("tagger.tools.labels.selection._BLOCK", 2)
    words = [whole(each) for each in WORDS]
    assert select(np.arange(6.0), words, 100) == [5, 4, 3, 1]
    assert select(np.zeros(0), [], 100) == []
