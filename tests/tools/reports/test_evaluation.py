import pytest
import torch
from allennlp.models import load_archive

from tagger.spans import tags_to_spans
from tagger.tools.reports.evaluation import evaluate
from tagger.tools.reports.evaluators import span_probabilities

LINES = "Ada B-PER\nLovelace I-PER\nmet O\nBank B-ORG\nParis B-LOC\n\nParis B-LOC\nleft {}\n\n"


@pytest.fixture
def spoilt(archive):
    """The toy model with changed weights, so that it makes errors."""
    with torch.no_grad():
        for parameter in archive.model.projection.parameters():
            parameter.add_(0.5 * torch.randn_like(parameter))
    archive.model.eval()
    return archive


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.txt"
    path.write_text(LINES.format("O") * 20)
    return str(path)


SETS = "Ada PER|FIRST\nLovelace PER\nleft O\nBank ?\n\n" * 12 + "left PER|?FIRST\nBank FIRST\n\n"
PLAIN = "Ada NOUN\nleft VERB\nBank ?\n\n" * 8 + "Ada VERB\nleft O\n\n"
BESIDE_UNKNOWN = "Paris B-LOC\nleft ?\n\nBank B-ORG\nmet O\n\n" * 8
SPANS = "Ada B-PER\nLovelace I-PER\nmet O\nParis B-LOC\n\nParis B-LOC\nleft O\n\n" * 8


def assert_counts_add_up(evaluation, prefix=""):
    metrics = evaluation.metrics
    for label, (right, predicted, gold) in zip(evaluation.labels, evaluation.counts.sum(0).T):
        assert predicted == metrics[f"{prefix}num-predicted-{label}"]
        assert gold == metrics[f"{prefix}num-gold-{label}"]
        assert right == pytest.approx(metrics[f"{prefix}recall-{label}"] * gold)


@pytest.mark.parametrize(
    ("lines", "options", "num_sentences", "num_shown", "prefix"),
    [
        (SETS, {"encoding": None, "label_separator": "|", "unknown_tag": "?"}, 13, 13, ""),
        (PLAIN, {"encoding": None, "metric": "+accuracy", "unknown_tag": "?"}, 9, 1, "token-"),
        (BESIDE_UNKNOWN, {"tag_encoding": "BIO", "unknown_tag": "?"}, 16, 8, ""),
        (SPANS, {}, 16, 16, ""),
    ],
    ids=["sets of labels", "plain tags", "unknown tags", "spans"],
)
def test_counts_of_sentences_add_up_to_the_models_metrics(
    lines, options, num_sentences, num_shown, prefix, train_on
):
    run = train_on(lines, **options)
    archive = load_archive(run / "model.tar.gz")
    data = str(run.parent / "data.txt")
    evaluation = evaluate(archive.model, archive.validation_dataset_reader, data, 20, 0)
    assert evaluation.counts.shape == (num_sentences, 3, len(evaluation.labels))
    assert evaluation.num_shown == num_shown
    assert_counts_add_up(evaluation, prefix)
    if lines == BESIDE_UNKNOWN:
        # Spans beside an unknown tag do not count.
        assert evaluation.counts[:, 2].sum(0).tolist() == [0, 8]
    if lines == SETS:
        # At the threshold of a label lie its precision and its recall.
        for label, (_, recalls, (_, recall)) in evaluation.points.items():
            assert recall == pytest.approx(evaluation.metrics[f"recall-{label}"])
            assert recalls[-1] == 1


def test_errors_of_a_bad_tagger_are_counted_and_its_gold_spans_have_probabilities(spoilt, data):
    evaluation = evaluate(spoilt.model, spoilt.validation_dataset_reader, data, 10, 0)
    assert_counts_add_up(evaluation)
    assert evaluation.num_wrong > 0
    for label, right in zip(evaluation.labels, evaluation.counts[:, 0].sum(0)):
        assert right == evaluation.confusions.get(f"confusion-{label}>{label}", 0)
    assert len(evaluation.examples) == 10
    for example in evaluation.examples:
        notes = [note for part in example.lines["gold"] for note in part.notes]
        assert notes
        assert all(0 < note.probability < 1 for note in notes)


def test_probabilities_of_predicted_spans_are_those_of_the_prediction(spoilt, at_root):
    instances = list(spoilt.validation_dataset_reader.read("data/toy/test.txt"))[:2]
    outputs = spoilt.model.forward_on_instances(instances)
    spans = [tags_to_spans(output["tags"], "BIOUL") for output in outputs]
    assert any(spans)
    found = span_probabilities(spoilt.model, instances, spans)
    for of_sentence, output in zip(found, outputs):
        probabilities = [entity["probability"] for entity in output["entities"]]
        assert of_sentence == pytest.approx(probabilities, abs=1e-6)
    # Labels of one place share its probability.
    spans = [[(label, (0, 0)) for label in ("PER", "LOC", "ORG", "EVENT")]] * 2
    for of_sentence in span_probabilities(spoilt.model, instances, spans):
        assert min(of_sentence) > 0
        assert sum(of_sentence) < 1


def test_curves_end_at_the_models_own_point(archive, at_root):
    archive.model.eval()
    reader = archive.validation_dataset_reader
    evaluation = evaluate(archive.model, reader, "data/toy/test.txt", 10, 0)
    assert evaluation.points
    for label, (_, _, (precision, recall)) in evaluation.points.items():
        assert precision == pytest.approx(evaluation.metrics[f"precision-{label}"])
        assert recall == pytest.approx(evaluation.metrics[f"recall-{label}"])
