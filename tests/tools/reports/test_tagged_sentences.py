import numpy as np
import pytest

from tagger.tools.reports.tagged_sentences import (
    Note,
    TaggedSentence,
    example_of_spans,
    marked_texts,
    notes_on_labels,
    precision_recall_points,
    sample_errors,
    verdict,
)
from tagger_texts.segments import join_words

GOLD = [("PER", (0, 1)), ("LOC", (3, 4))]


@pytest.mark.parametrize(
    ("span", "expected"),
    [
        (("PER", (0, 1)), "right"),
        (("ORG", (0, 1)), "wrong label"),
        (("PER", (1, 2)), "wrong boundary"),
        (("LOC", (1, 3)), "wrong boundary"),
        (("ORG", (1, 3)), "wrong label and boundary"),
        (("PER", (2, 2)), "spurious"),
    ],
)
def test_a_span_is_compared_with_those_of_the_other_side_that_it_overlaps(span, expected):
    assert verdict(span, GOLD, alone="spurious") == expected
    verdicts = [verdict(gold, [("PER", (0, 0))], alone="missed") for gold in GOLD]
    assert verdicts == ["wrong boundary", "missed"]


def test_an_example_has_a_line_of_each_side_with_verdicts_and_probabilities():
    sentence = TaggedSentence(
        ["Ada", "Lovelace", "in", "New", "York"], GOLD, [("PER", (0, 1))], [0.8]
    )
    example = example_of_spans(sentence, [0.8, 0.1])
    assert [tuple(part) for part in example.lines["gold"]] == [
        ("Ada Lovelace", [("PER", "right", 0.8)]),
        (" in ", []),
        ("New York", [("LOC", "missed", 0.1)]),
    ]
    assert [part.text for part in example.lines["predicted"]] == [
        "Ada Lovelace",
        " in New York",
    ]
    assert example.errors() == {("LOC", "missed")}
    assert example.surprise() == 0.9
    only_errors = example_of_spans(sentence, only_errors=True)
    assert [tuple(part) for part in only_errors.lines["gold"]] == [
        ("Ada Lovelace in ", []),
        ("New York", [("LOC", "missed", None)]),
    ]
    assert only_errors.surprise() == 0


def test_labels_of_an_item_are_noted_if_they_are_known():
    notes = notes_on_labels(
        ["A", "B", "C", "D", "E"],
        np.array([1, 1, 0, -1, 0]),
        np.array([True, False, True, True, False]),
        np.array([0.9, 0.4, 0.6, 0.7, 0.1]),
    )
    assert notes == [("A", "right", 0.9), ("B", "missed", 0.4), ("C", "spurious", 0.6)]


def test_errors_are_drawn_by_the_seed_keep_their_order_and_rare_ones_come_first():
    errors = [frozenset({("PER", "missed")})] * 500
    draws = [sample_errors(errors[:50], 10, seed) for seed in (1, 1, 2)]
    assert draws[0] == draws[1] != draws[2]
    assert draws[0] == sorted(set(draws[0]))
    assert sample_errors(errors[:50], 100, seed=1) == list(range(50))
    errors[77] = frozenset({("PER", "missed"), ("PER", "spurious")})
    errors[99] = frozenset({("LOC", "missed")})
    assert {77, 99} <= set(sample_errors(errors, 10, seed=1))


def test_precision_and_recall_count_what_each_threshold_keeps():
    probabilities = np.array([0.3, 0.9, 0.6, 0.6, 0.3])
    is_right = np.array([True, True, False, True, False])
    precision, recall = precision_recall_points(probabilities, is_right, num_gold=6)
    for i, threshold in enumerate([0.9, 0.6, 0.3]):
        kept = is_right[probabilities >= threshold]
        assert (precision[i], recall[i]) == pytest.approx((kept.mean(), kept.sum() / 6))
    assert len(precision) == len(recall) == 3


def test_spans_that_overlap_get_more_lines_and_may_be_compared_by_label():
    gold, predicted = [("ORG", (0, 3)), ("LOC", (3, 3))], [("LOC", (3, 3)), ("PER", (3, 3))]
    sentence = TaggedSentence("the Bank of China".split(), gold, predicted, [])
    lines = example_of_spans(sentence, by_label=True).lines
    assert list(lines) == ["gold", "gold, overlapping", "predicted", "predicted, overlapping"]
    assert all("".join(part.text for part in line) == "the Bank of China" or len(line) > 1
               for line in lines.values())  # fmt: skip

    def verdicts(**options):
        shown = example_of_spans(sentence, **options).lines.values()
        return [note.verdict for line in shown for part in line for note in part.notes]

    assert verdicts(by_label=True) == ["missed", "right", "right", "spurious"]
    assert verdicts() == ["wrong label and boundary", "right", "right", "wrong label"]


def test_marked_texts_together_are_the_text_as_its_script_is_written():
    note = [Note("ORG", "right", None)]
    for words, text in (
        ("see New York , Oslo !".split(), "see New York , Oslo !"),
        (["他", "在", "Google", "工", "作", "。"], "他在Google工作。"),
        ("قال محمد علي".split(), "قال محمد علي"),
    ):
        parts = marked_texts(words, [(1, 2)], [note])
        assert "".join(each.text for each in parts) == text
        assert [each.text for each in parts if each.notes] == [join_words(words[1:3])[0]]
