"""Correct spans, partial matches and common positions, compared with other programs."""

from collections import Counter

import nervaluate

from tagger.spans import tags_to_spans
from tagger.spans.finding import lay_end_to_end, tag_tables
from tagger.spans.matching import (
    OUTCOMES,
    SCHEMES,
    count_partial_matches,
    count_positions,
    match_spans,
)
from tests.spans.tagged import random_sentences, tag_set, to_batch, to_mask

LABELS = ("LOC", "ORG", "PER")
TAGS = tag_set("BIO", LABELS)
#: Names of the schemes in nervaluate.
THEIRS = {"type": "ent_type"}


def matches_of(gold, predicted):
    """The matches of sentences with at least one token."""
    sides = (to_batch(rows, TAGS).numpy() for rows in (predicted, gold))
    mask = to_mask(gold).numpy()
    flat = [lay_end_to_end(tags, mask, len(TAGS)) for tags in sides]
    return match_spans(tag_tables(TAGS, "BIO"), *flat)


def rows_of(spans):
    return list(zip(*(column.tolist() for column in spans)))


def test_correct_spans_have_the_label_start_and_end_of_a_gold_span():
    matches = matches_of(*random_sentences(TAGS, 200, seed=1))
    expected = [span in rows_of(matches.gold) for span in rows_of(matches.predicted)]
    assert matches.is_right().tolist() == expected
    assert 50 < sum(expected) < len(expected) - 50


def test_counts_equal_nervaluates():
    sides = random_sentences(TAGS, 600, seed=0)
    theirs = nervaluate.Evaluator(*sides, tags=list(LABELS), loader="list").evaluate()
    matches = matches_of(*sides)
    counts = count_partial_matches(matches.gold, matches.predicted, len(LABELS))
    totals = Counter()
    for scheme, of_scheme in zip(SCHEMES, counts):
        of_labels = [theirs["entities"][label] for label in LABELS]
        for each, expected in zip(of_scheme, [*of_labels, theirs["overall"]]):
            result = expected[THEIRS.get(scheme, scheme)]
            found = dict(zip(OUTCOMES, each.tolist()))
            assert found == {outcome: getattr(result, outcome) for outcome in OUTCOMES}, scheme
            totals.update(found)
    assert all(totals[outcome] > 50 for outcome in OUTCOMES)


def test_common_positions_are_counted_by_label():
    sides = random_sentences(TAGS, 100, seed=2)
    gold, predicted = (
        {
            (label, row, place)
            for row, tags in enumerate(sentences)
            for label, (first, last) in tags_to_spans(tags, "BIO")
            for place in range(first, last + 1)
        }
        for sentences in sides
    )
    matches = matches_of(*sides)
    counts = count_positions(matches.gold, matches.predicted, len(LABELS) + 1)
    expected = [
        Counter(each[0] for each in inside) for inside in (gold & predicted, predicted, gold)
    ]
    assert counts.tolist() == [[each[label] for label in (*LABELS, "")] for each in expected]


def test_without_spans_there_are_no_matches():
    none, one = matches_of([["O"] * 4], [["B-ORG", "I-ORG", "I-ORG", "O"]])[:2]
    assert not count_partial_matches(none, none, 2).any()
    assert not count_positions(none, none, 2).any()
    assert count_partial_matches(none, one, 2)[:, :, -1].tolist() == [[0, 1, 1]] * 4
