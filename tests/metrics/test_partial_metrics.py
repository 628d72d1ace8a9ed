"""Metrics of partial matches, from tags to tables."""

from tagger.metrics import format_metrics
from tests.metrics.measuring import measured, with_unknown
from tests.spans.tagged import random_sentences, tag_set


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
    for measure in ("precision", "recall", "f1-measure"):
        assert partial[f"exact-{measure}-PER"] == strict[f"{measure}-PER"]


def test_plain_labels_have_no_partial_matches():
    metric = measured([["NOUN", "VERB"]], [["NOUN", "NOUN"]], None, ["NOUN", "VERB"])
    assert metric.get_partial_metrics() == {}
