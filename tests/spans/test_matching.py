"""Right spans, partial matches and common positions, compared with those of other programs."""

import random
from collections import Counter

import numpy as np
import pytest

from tagger.spans.finding import Spans, lay_end_to_end, tag_tables
from tagger.spans.matching import (
    OUTCOMES,
    SCHEMES,
    count_partial_matches,
    count_positions,
    match_spans,
)
from tests.spans.tagged import random_sentences, tag_set, to_batch, to_mask

LABELS = ("LOC", "ORG", "PER")
#: The schemes' names in nervaluate.
THEIRS = {"type": "ent_type"}


def test_right_spans_have_label_start_and_end_of_a_gold_one():
    tags = tag_set("BIO")
    sides = random_sentences(tags, 200, seed=1)
    mask = to_mask(sides[0]).numpy()
    gold, predicted = (
        lay_end_to_end(to_batch(rows, tags).numpy(), mask, len(tags)) for rows in sides
    )
    matches = match_spans(tag_tables(tags, "BIO"), predicted, gold)
    of_gold = set(zip(*(each.tolist() for each in matches.gold)))
    expected = [span in of_gold for span in zip(*(each.tolist() for each in matches.predicted))]
    assert matches.is_right().tolist() == expected
    assert 50 < sum(expected) < len(expected) - 50


def random_spans(draw, num_tokens):
    """Spans of 1 to 6 tokens that do not overlap: labels, first tokens and last ones."""
    start, spans = draw.randrange(4), []
    while start < num_tokens:
        end = min(start + draw.choice((0, 0, 1, 2, 5)), num_tokens - 1)
        spans.append((draw.randrange(len(LABELS)), start, end))
        start = end + 1 + draw.choice((0, 1, 1, 3, 9))
    return spans


def moved_spans(draw, spans, num_tokens):
    """Such spans, many of which have another label, other boundaries, or are cut in two."""
    moved, start = [], 0
    for label, first, last in spans:
        if draw.random() < 0.15:
            continue
        if draw.random() < 0.3:
            label = draw.randrange(len(LABELS))
        if draw.random() < 0.4:
            first, last = first + draw.randint(-2, 1), last + draw.randint(-1, 3)
        first, last = max(first, start), min(last, num_tokens - 1)
        cuts = [last] if draw.random() < 0.8 else [first, last]
        for end in cuts:
            if first <= end:
                moved.append((label, first, end))
                first = start = end + 1
    return moved


def arrays(spans):
    return Spans(*np.array(spans, dtype=np.int64).reshape(-1, 3).T)


def end_to_end(documents, num_tokens):
    return arrays(
        [
            (label, first + place * num_tokens, last + place * num_tokens)
            for place, spans in enumerate(documents)
            for label, first, last in spans
        ]
    )


@pytest.mark.parametrize("num_tokens", [6, 40])
def test_counts_are_those_of_nervaluate(num_tokens):
    nervaluate = pytest.importorskip("nervaluate", reason="needs Python 3.11")
    draw = random.Random(num_tokens)
    gold = [random_spans(draw, num_tokens) for _ in range(300)]
    predicted = [
        moved_spans(draw, spans, num_tokens) if draw.random() < 0.7 else random_spans(draw, 5)
        for spans in gold
    ]
    sides = [
        [
            [{"label": LABELS[label], "start": first, "end": last} for label, first, last in spans]
            for spans in documents
        ]
        for documents in (gold, predicted)
    ]
    theirs = nervaluate.Evaluator(*sides, tags=list(LABELS), loader="dict").evaluate()
    counts = count_partial_matches(
        end_to_end(gold, num_tokens), end_to_end(predicted, num_tokens), len(LABELS)
    )
    totals = Counter()
    for scheme, of_scheme in zip(SCHEMES, counts):
        of_labels = [theirs["entities"][label] for label in LABELS]
        for each, expected in zip(of_scheme, [*of_labels, theirs["overall"]]):
            result = expected[THEIRS.get(scheme, scheme)]
            found = dict(zip(OUTCOMES, each.tolist()))
            assert found == {outcome: getattr(result, outcome) for outcome in OUTCOMES}, scheme
            totals.update(found)
    assert all(totals[outcome] > 50 for outcome in OUTCOMES)


def test_positions_in_common_are_counted_by_label():
    draw = random.Random(0)
    gold = random_spans(draw, 2_000)
    predicted = moved_spans(draw, gold, 2_000)
    inside = [
        {(label, place) for label, first, last in spans for place in range(first, last + 1)}
        for spans in (gold, predicted)
    ]
    expected = [
        Counter(label for label, _ in each)
        for each in (inside[0] & inside[1], inside[1], inside[0])
    ]
    counts = count_positions(arrays(gold), arrays(predicted), len(LABELS) + 1)
    assert counts.tolist() == [[each[c] for c in range(4)] for each in expected]


def test_without_spans_there_is_nothing():
    none = arrays([])
    assert not count_partial_matches(none, none, 2).any()
    assert not count_positions(none, none, 2).any()
    assert count_partial_matches(none, arrays([(1, 0, 3)]), 2)[:, :, -1].tolist() == [[0, 1, 1]] * 4
