from collections import Counter

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

from tagger.spans import ENCODINGS, tags_to_spans
from tests.metrics.measuring import MEASURES, measured, metrics_of, with_unknown
from tests.spans.tagged import random_sentences, tag_set


def count_confusions(gold, predicted, encoding):
    """Counts pairs of (gold label or error, predicted label or error) over lists of sentences, by span.

    A span with or next to an unknown gold tag, `?`, does not count, but can still overlap others.
    """
    counts = Counter()
    for gold_tags, predicted_tags in zip(gold, predicted):
        sides = [
            tags_to_spans(["O" if tag == "?" else tag for tag in tags], encoding)
            for tags in (gold_tags, predicted_tags)
        ]

        def is_known(span, tags=gold_tags):
            start, end = span[1]
            return "?" not in tags[max(start - 1, 0) : end + 2]

        for spans, others, no_overlap in ((*sides, "missed"), (*sides[::-1], "spurious")):
            for label, bounds in filter(is_known, spans):
                same = [other for other, its_bounds in others if its_bounds == bounds]
                touched = {
                    other
                    for other, (start, end) in others
                    if start <= bounds[1] and bounds[0] <= end
                }
                error = "boundary" if label in touched else "both" if touched else no_overlap
                if no_overlap == "missed":
                    counts[label, same[0] if same else error] += 1
                elif not same:
                    counts[error, label] += 1
    return counts


def known_labels(gold, predicted, label_of):
    """The gold and predicted labels of all tokens with a known gold tag."""
    pairs = [
        (label_of(gold_tag), label_of(predicted_tag))
        for gold_tags, predicted_tags in zip(gold, predicted)
        for gold_tag, predicted_tag in zip(gold_tags, predicted_tags)
        if gold_tag != "?"
    ]
    return tuple(zip(*pairs))


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("seed", range(4))
def test_spans_and_confusions_equal_those_counted_one_by_one(encoding, seed):
    gold, predicted = random_sentences(tag_set(encoding), 80, seed)
    gold = with_unknown(gold, 0.05 * seed, seed)
    metric = measured(gold, predicted, encoding)
    metrics, confusions = metric.get_metric(), metric.get_confusions()
    expected = count_confusions(gold, predicted, encoding)
    assert len(expected) > 15
    assert {name: n for name, n in confusions.items() if name.startswith("confusion-")} == {
        f"confusion-{row}>{column}": number for (row, column), number in expected.items()
    }
    for label in ("PER", "LOC", "GPE-X"):
        num_gold = sum(n for (row, _), n in expected.items() if row == label)
        num_predicted = sum(n for (_, column), n in expected.items() if column == label)
        assert metrics[f"num-gold-{label}"] == num_gold
        assert metrics[f"num-predicted-{label}"] == num_predicted
        num_right = expected[label, label]
        assert metrics[f"precision-{label}"] == pytest.approx(num_right / num_predicted)
        assert metrics[f"recall-{label}"] == pytest.approx(num_right / num_gold)
    for number in ("num-gold", "num-predicted"):
        of_labels = [metrics[f"{number}-{label}"] for label in ("PER", "LOC", "GPE-X")]
        assert metrics[f"{number}-overall"] == sum(of_labels)


def test_confusions_are_counted_as_documented():
    sentences = [
        "B-PER I-PER O B-LOC I-LOC O B-LOC O O B-PER",
        "B-PER O O B-PER I-PER O O O B-LOC I-LOC",
    ]
    gold, predicted = (sentence.split() for sentence in sentences)
    confusions = measured([gold], [predicted]).get_confusions()
    assert {name: n for name, n in confusions.items() if name.startswith("confusion-")} == {
        "confusion-PER>boundary": 1,  # tokens 0 and 1
        "confusion-boundary>PER": 1,
        "confusion-LOC>PER": 1,  # tokens 3 and 4
        "confusion-LOC>missed": 1,  # token 6
        "confusion-PER>both": 1,  # token 9
        "confusion-both>LOC": 1,  # tokens 8 and 9
    }
    swapped = measured([predicted], [gold]).get_confusions()
    assert swapped["confusion-spurious>LOC"] == 1


@pytest.mark.parametrize("encoding", [*ENCODINGS, None])
def test_token_metrics_compare_labels_without_prefixes(encoding):
    tags = tag_set(encoding) if encoding else ["DET", "NOUN", "VERB", "B-X"]
    gold, predicted = random_sentences(tags, 80, seed=6)
    gold = with_unknown(gold, 0.1, seed=6)
    metric = measured(gold, predicted, encoding, tags)
    metrics, confusions = metric.get_metric(), metric.get_confusions()
    label_of = str if encoding in ("IO", None) else lambda tag: tag.partition("-")[2] or "O"
    true, guessed = known_labels(gold, predicted, label_of)
    labels = sorted({*map(label_of, tags)} - {"O"})
    averages = [("overall", "micro"), ("macro", "macro"), *((label, None) for label in labels)]
    for name, average in averages:
        expected = precision_recall_fscore_support(
            true, guessed, labels=labels if average else [name], average=average
        )
        for measure, value in zip(MEASURES, expected):
            assert metrics[f"token-{measure}-{name}"] == pytest.approx(float(np.squeeze(value)))
    for label in labels:
        assert metrics[f"token-num-gold-{label}"] == true.count(label)
        assert metrics[f"token-num-predicted-{label}"] == guessed.count(label)
    assert metrics["token-num-gold-overall"] == sum(label != "O" for label in true)
    assert metrics["token-num-predicted-overall"] == sum(label != "O" for label in guessed)
    names = [*labels, "O"]
    cells = confusion_matrix(true, guessed, labels=names)
    assert cells.tolist() == [
        [confusions.get(f"token-confusion-{row}>{column}", 0) for column in names] for row in names
    ]
    if encoding is None:
        assert metrics["accuracy"] == pytest.approx(np.mean([*map(str.__eq__, true, guessed)]))
        assert not any(name.startswith("precision") for name in metrics)


def test_o_among_plain_labels_is_not_a_label_but_counts_for_accuracy():
    metrics = metrics_of([["O", "NAME", "O"]], [["O", "O", "O"]], None, ["O", "NAME"])
    assert metrics["accuracy"] == pytest.approx(2 / 3)
    assert metrics["token-f1-measure-overall"] == 0
    assert "token-f1-measure-O" not in metrics
