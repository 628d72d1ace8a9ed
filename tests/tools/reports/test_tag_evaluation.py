import pytest
import torch
from allennlp.models import load_archive

from tagger.spans import tags_to_spans
from tagger.tools.reports.evaluation import evaluate
from tagger.tools.reports.tag_evaluation import span_probabilities

LINES = "Ada B-PER\nLovelace I-PER\nmet O\nBank B-ORG\nParis B-LOC\n\nParis B-LOC\nleft {}\n\n"


@pytest.fixture
def spoilt(archive):
    """The toy model with weights that make errors."""
    with torch.no_grad():
        for parameter in archive.model.projection.parameters():
            parameter.add_(0.5 * torch.randn_like(parameter))
    archive.model.eval()
    return archive


def write(tmp_path, tag):
    (tmp_path / "data.txt").write_text(LINES.format(tag) * 20)
    return str(tmp_path / "data.txt")


@pytest.mark.parametrize("tag", ["O", "?"])
def test_counts_of_sentences_add_up_to_the_models_metrics(spoilt, tmp_path, tag):
    reader = spoilt.validation_dataset_reader
    unknown_tag = "?" if tag == "?" else None
    spelling = reader._spelling._replace(unknown_tag=unknown_tag)
    reader._spelling, reader.columns = spelling, reader.columns._replace(spelling=spelling)
    evaluation = evaluate(spoilt.model, reader, write(tmp_path, tag), 10, 0)
    assert evaluation.counts.shape == (40, 3, 4)
    for c, label in enumerate(evaluation.labels):
        right, predicted, gold = evaluation.counts[:, :, c].sum(0)
        assert gold == evaluation.metrics[f"num-gold-{label}"]
        assert predicted == evaluation.metrics[f"num-predicted-{label}"]
        assert right == evaluation.confusions.get(f"confusion-{label}>{label}", 0)
    assert evaluation.num_wrong > 0


def test_spans_beside_an_unknown_tag_do_not_count(train_on):
    lines = "Paris B-LOC\nleft ?\n\nBank B-ORG\nmet O\n\n" * 8
    run = train_on(lines, tag_encoding="BIO", unknown_tag="?")
    archive = load_archive(run / "model.tar.gz")
    archive.model.eval()
    reader, data = archive.validation_dataset_reader, str(run.parent / "data.txt")
    evaluation = evaluate(archive.model, reader, data, 10, 0)
    assert evaluation.counts[:, 2].sum(0).tolist() == [0, 8]
    assert evaluation.metrics["num-gold-overall"] == 8


def test_probabilities_of_predicted_spans_are_those_of_the_prediction(spoilt, at_root):
    instances = list(spoilt.validation_dataset_reader.read("data/toy/test.txt"))[:2]
    outputs = spoilt.model.forward_on_instances(instances)
    spans = [tags_to_spans(output["tags"], "BIOUL") for output in outputs]
    assert any(spans)
    found = span_probabilities(spoilt.model, instances, spans)
    for of_sentence, output in zip(found, outputs):
        probabilities = [entity["probability"] for entity in output["entities"]]
        assert of_sentence == pytest.approx(probabilities, abs=1e-6)


def test_labels_of_one_place_share_its_probability(spoilt, tmp_path):
    instances = list(spoilt.validation_dataset_reader.read(write(tmp_path, "O")))[:2]
    spans = [[(label, (0, 0)) for label in ("PER", "LOC", "ORG", "EVENT")]] * 2
    for of_sentence in span_probabilities(spoilt.model, instances, spans):
        assert min(of_sentence) > 0
        assert sum(of_sentence) < 1


def test_gold_spans_of_examples_have_their_probability(spoilt, tmp_path):
    evaluation = evaluate(
        spoilt.model, spoilt.validation_dataset_reader, write(tmp_path, "O"), 10, 0
    )
    assert len(evaluation.examples) == 10
    for example in evaluation.examples:
        notes = [note for segment in example.lines["gold"] for note in segment.notes]
        assert notes
        assert all(0 < note.probability < 1 for note in notes)


def test_curves_end_at_the_models_own_point(archive, at_root):
    archive.model.eval()
    evaluation = evaluate(
        archive.model, archive.validation_dataset_reader, "data/toy/test.txt", 10, 0
    )
    assert evaluation.points
    for label, (_, _, (precision, recall)) in evaluation.points.items():
        assert precision == pytest.approx(evaluation.metrics[f"precision-{label}"])
        assert recall == pytest.approx(evaluation.metrics[f"recall-{label}"])
