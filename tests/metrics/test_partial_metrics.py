"""Metrics of partial matches, from tags to tables, are those of nervaluate."""

import pytest

from tagger.metrics import format_metrics
from tests.metrics.measuring import measured, with_unknown
from tests.spans.tagged import random_sentences, tag_set

THEIRS = {"precision": "precision", "recall": "recall", "f1-measure": "f1"}
SCHEMES = {"strict": "", "exact": "exact-", "partial": "partial-", "ent_type": "type-"}


def test_metrics_of_tags_are_those_of_nervaluate():
    nervaluate = pytest.importorskip("nervaluate", reason="needs Python 3.11")
    labels = ("PER", "LOC", "ORG")
    tags = tag_set("BIO", labels)
    gold, predicted = random_sentences(tags, 200, seed=0)
    theirs = nervaluate.Evaluator(gold, predicted, tags=labels, loader="list").evaluate()
    metric = measured(gold, predicted, tags=tags)
    found = {**metric.get_metric(), **metric.get_partial_metrics()}
    for name, expected in {**theirs["entities"], "overall": theirs["overall"]}.items():
        for scheme, prefix in SCHEMES.items():
            for measure, own in THEIRS.items():
                assert found[f"{prefix}{measure}-{name}"] == pytest.approx(
                    getattr(expected[scheme], own)
                ), (name, scheme, measure)
    assert found["type-f1-measure-PER"] > found["partial-f1-measure-PER"] > found["f1-measure-PER"]


def test_partial_matches_stand_in_a_table_of_their_own():
    gold = [["B-PER", "I-PER", "O", "B-LOC", "O", "B-GPE-X"]]
    predicted = [["B-PER", "O", "O", "B-PER", "O", "O"]]
    metric = measured(gold, predicted)
    table = format_metrics({**metric.get_metric(), **metric.get_partial_metrics()})
    assert [line.split() for line in table.split("\n\n")[-1].splitlines()] == [
        ["spans:", "F1", "by", "scheme", "strict", "exact", "partial", "type"],
        ["GPE-X", *["0.0000"] * 4],
        ["LOC", *["0.0000"] * 4],
        ["PER", "0.0000", "0.0000", "0.3333", "0.6667"],
        ["overall", "0.0000", "0.4000", "0.6000", "0.4000"],
    ]
    metric.reset()
    assert not any(metric.get_partial_metrics().values())


def test_spans_count_as_by_the_strict_scheme_where_tags_are_unknown():
    gold, predicted = random_sentences(tag_set("BIO"), 200, seed=1)
    metric = measured(with_unknown(gold, 0.1, seed=0), predicted)
    strict, partial = metric.get_metric(), metric.get_partial_metrics()
    for measure in THEIRS:
        assert partial[f"exact-{measure}-PER"] == strict[f"{measure}-PER"]


def test_plain_labels_have_no_partial_matches():
    metric = measured([["NOUN", "VERB"]], [["NOUN", "NOUN"]], None, ["NOUN", "VERB"])
    assert metric.get_partial_metrics() == {}
