import numpy as np
import pytest

from tagger.reports.tagged_sentences import (
    TaggedSentence,
    cut_into_segments,
    judge,
    precision_recall_points,
    sample_errors,
)

GOLD = [("PER", (0, 1)), ("LOC", (3, 4))]


@pytest.mark.parametrize(
    ("span", "verdict"),
    [
        (("PER", (0, 1)), "right"),
        (("ORG", (0, 1)), "wrong label"),
        (("PER", (1, 2)), "wrong boundary"),
        (("LOC", (1, 3)), "wrong boundary"),
        (("ORG", (1, 3)), "wrong label and boundary"),
        (("PER", (2, 2)), "spurious"),
    ],
)
def test_a_predicted_span_is_judged_by_the_gold_ones_that_it_overlaps(span, verdict):
    assert judge([span], GOLD, alone="spurious") == [verdict]


def test_gold_spans_are_judged_likewise():
    assert judge(GOLD, [("PER", (0, 0))], alone="missed") == ["wrong boundary", "missed"]


def test_segments_make_up_the_sentence():
    words = ["Ada", "Lovelace", "in", "New", "York"]
    segments = cut_into_segments(words, GOLD, ["right", "missed"])
    assert [tuple(segment) for segment in segments] == [
        ("Ada Lovelace", "PER", "right"),
        ("in", None, None),
        ("New York", "LOC", "missed"),
    ]


def test_errors_are_drawn_among_wrong_sentences_by_the_seed_and_keep_their_order():
    right = TaggedSentence(["right"], GOLD, GOLD, [])
    wrong = [TaggedSentence([str(i)], GOLD, [], []) for i in range(50)]
    sentences = [right, *wrong, right]
    draws = [sample_errors(sentences, 10, seed) for seed in (1, 1, 2)]
    assert draws[0] == draws[1] != draws[2]
    assert right not in draws[0]
    assert draws[0] == sorted(draws[0], key=lambda sentence: int(sentence.words[0]))
    assert sample_errors(sentences, 100, seed=1) == wrong


def test_precision_and_recall_are_those_of_what_each_threshold_keeps():
    probabilities = np.array([0.3, 0.9, 0.6, 0.6, 0.3])
    is_right = np.array([True, True, False, True, False])
    precision, recall = precision_recall_points(probabilities, is_right, num_gold=6)
    for i, threshold in enumerate([0.9, 0.6, 0.3]):
        kept = is_right[probabilities >= threshold]
        assert (precision[i], recall[i]) == pytest.approx((kept.mean(), kept.sum() / 6))
    assert len(precision) == len(recall) == 3
