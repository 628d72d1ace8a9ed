import numpy as np
import pytest
from allennlp.models import load_archive

from tagger.tools.reports.evaluation import evaluate

LINES = "Ada PER|FIRST\nLovelace PER\nleft O\nBank ?\n\n" * 12 + "left PER|?FIRST\nBank FIRST\n\n"


def counts_of_metrics(metrics, labels, prefix=""):
    """True positives, predicted and gold, by label."""
    predicted, gold = (
        np.array([metrics[f"{prefix}{count}-{label}"] for label in labels])
        for count in ("num-predicted", "num-gold")
    )
    recall = np.array([metrics[f"{prefix}recall-{label}"] for label in labels])
    return np.stack([(recall * gold).round().astype(int), predicted, gold])


def test_counts_of_sets_add_up_to_the_models_metrics_and_unknown_labels_do_not_count(train_on):
    run = train_on(LINES, encoding=None, label_separator="|", unknown_tag="?")
    archive = load_archive(run / "model.tar.gz")
    archive.model.eval()
    reader, data = archive.validation_dataset_reader, str(run.parent / "data.txt")
    evaluation = evaluate(archive.model, reader, data, 20, 0)
    assert evaluation.counts.shape == (13, 3, 2)
    expected = counts_of_metrics(evaluation.metrics, evaluation.labels)
    np.testing.assert_array_equal(evaluation.counts.sum(0), expected)
    # At the threshold of a label lie its precision and its recall.
    for label, (_, recalls, (_, recall)) in evaluation.points.items():
        assert recall == pytest.approx(evaluation.metrics[f"recall-{label}"])
        assert recalls[-1] == 1


def test_counts_of_plain_tags_add_up_to_the_models_metrics(train_on):
    lines = "Ada NOUN\nleft VERB\nBank ?\n\n" * 8 + "Ada VERB\nleft O\n\n"
    run = train_on(lines, encoding=None, metric="+accuracy", unknown_tag="?")
    archive = load_archive(run / "model.tar.gz")
    archive.model.eval()
    reader, data = archive.validation_dataset_reader, str(run.parent / "data.txt")
    evaluation = evaluate(archive.model, reader, data, 20, 0)
    expected = counts_of_metrics(evaluation.metrics, evaluation.labels, "token-")
    np.testing.assert_array_equal(evaluation.counts.sum(0), expected)
    assert evaluation.num_shown == 1
