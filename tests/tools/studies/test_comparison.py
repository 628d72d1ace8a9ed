import numpy as np
import pytest

from tagger.metrics.label_metrics import metrics_by_label
from tagger.tools.runs.results import Column
from tagger.tools.runs.work import SentenceCounts
from tagger.tools.studies.comparison import compare, format_differences

LABELS = ["LOC", "PER"]
COLUMNS = [
    Column("F1", ["test_f1-measure-overall"]),
    Column("macro F1", ["test_f1-measure-macro"]),
    Column("recall", ["test_recall-LOC", "test_recall-PER"]),
    Column("dev", ["best_validation_f1-measure-overall"]),
    Column("both", ["test_recall-LOC", "test_loss"]),
]


def some_counts(rng, num_sentences=60, share=0.5):
    gold = rng.integers(0, 3, (num_sentences, 2))
    right = rng.binomial(gold, share)
    predicted = right + rng.integers(0, 2, (num_sentences, 2))
    return SentenceCounts(LABELS, np.stack([right, predicted, gold], 1))


@pytest.fixture
def counts():
    rng = np.random.default_rng(1)
    return {
        "plain": {seed: some_counts(rng) for seed in (1, 2)},
        "better": {seed: some_counts(rng, share=0.9) for seed in (1, 2, 3)},
    }


def metrics_of(found):
    return metrics_by_label(LABELS, found.counts.sum(0))


def test_the_mean_is_the_difference_of_the_metrics_over_common_seeds(counts):
    (found,) = compare(counts, "plain", COLUMNS).values()
    assert list(found) == ["F1", "macro F1", "recall"]
    names = {"F1": ["f1-measure-overall"], "macro F1": ["f1-measure-macro"]}
    names["recall"] = ["recall-LOC", "recall-PER"]
    for title, metrics in names.items():
        by_seed = [
            np.mean([better[name] - plain[name] for name in metrics])
            for better, plain in (
                [metrics_of(counts[variant][seed]) for variant in ("better", "plain")]
                for seed in (1, 2)
            )
        ]
        assert found[title].mean == pytest.approx(100 * np.mean(by_seed))
        assert found[title].low < found[title].mean < found[title].high
    # Resamples are paired, so equal runs differ by nothing.
    same = compare({"plain": counts["plain"], "again": counts["plain"]}, "plain", COLUMNS)
    assert {tuple(each) for each in same["again"].values()} == {(0, 0, 0)}


def test_intervals_hold_the_truth_about_as_often_as_they_say():
    rng, num_held = np.random.default_rng(2), 0
    many = some_counts(rng, 200_000, 0.5), some_counts(rng, 200_000, 0.6)
    truth = 100 * (metrics_of(many[1])["recall-LOC"] - metrics_of(many[0])["recall-LOC"])
    column = [Column("recall", ["test_recall-LOC"])]
    for _ in range(60):
        drawn = {"a": {1: some_counts(rng, 80, 0.5)}, "b": {1: some_counts(rng, 80, 0.6)}}
        found = compare(drawn, "a", column)["b"]["recall"]
        num_held += found.low <= truth <= found.high
    assert 51 <= num_held <= 60


def test_a_label_that_a_resample_lacks_keeps_its_part_of_the_macro_average():
    # PER is in one sentence of forty, so every third resample lacks it.
    of_loc = np.array([[1, 0], [1, 0], [2, 0]])
    of_per = np.array([[0, 1], [0, 1], [0, 1]])
    found = np.stack([of_loc] * 39 + [of_per])
    nothing = found * [[[0], [0], [1]]]
    counts = {"a": {1: SentenceCounts(LABELS, nothing)}, "b": {1: SentenceCounts(LABELS, found)}}
    difference = compare(counts, "a", COLUMNS)["b"]["macro F1"]
    # The mean of 2 / 3 for LOC and 1 for PER, in every resample.
    assert (difference.low, difference.high) == pytest.approx((500 / 6, 500 / 6))


def test_the_table_leaves_out_unpaired_variants_and_has_a_dash_for_other_metrics(counts):
    shorter = SentenceCounts(LABELS, counts["plain"][1].counts[:-1])
    others = {"shorter": {1: shorter}, "other seeds": {7: counts["plain"][1]}}
    found = compare({**counts, **others}, "plain", COLUMNS)
    assert set(found) == {"better"}
    found["odd"] = {"F1": found["better"]["F1"]._replace(mean=-1.25, low=-2, high=0.04)}
    lines = format_differences(found, "plain").splitlines()
    assert lines[0] == "| difference from plain | F1 | macro F1 | recall |"
    assert lines[-1] == "| odd | -1.2 (-2.0 to +0.0) | – | – |"


def test_counts_survive_a_file(counts, tmp_path):
    counts["plain"][1].write(tmp_path / "counts.npz")
    again = SentenceCounts.read(tmp_path / "counts.npz")
    assert again.labels == LABELS
    assert (again.counts == counts["plain"][1].counts).all()
