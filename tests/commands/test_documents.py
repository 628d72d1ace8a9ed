"""Commands run on document taggers."""

import json
from pathlib import Path

import pytest
from allennlp.commands.evaluate import evaluate_from_archive
from allennlp.models import load_archive
from allennlp.predictors import Predictor

from tagger.commands.predict_file import predict_file
from tagger.modules.heads import ChainHead
from tagger.spans import tags_to_spans
from tagger.tools.reports.evaluation import evaluate
from tagger.tools.reports.evaluators import span_probabilities
from tagger.tools.tuning.labelled_file import encoded, read_instances


@pytest.fixture
def archive(trained_on_documents):
    return load_archive(trained_on_documents / "model.tar.gz")


@pytest.fixture
def data(trained_on_documents):
    return str(trained_on_documents.parent / "documents.txt")


def spans_of(output, encoding="BIOUL"):
    """The spans of a document, sentence by sentence."""
    spans, start = [], 0
    for length in output["sentence_lengths"]:
        tags = output["tags"][start : start + length]
        found = tags_to_spans(tags, encoding)
        spans += [(label, (start + first, start + last)) for label, (first, last) in found]
        start += length
    return spans


def test_predict_file_keeps_the_documents_of_a_column_file_and_accepts_lines(
    archive, data, tmp_path
):
    predictor = Predictor.from_archive(archive)
    predict_file(predictor, data, tmp_path / "out.jsonl", window=5, use_dataset_reader=True)
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    instances = list(archive.validation_dataset_reader.read(data))
    assert [line["tokens"] for line in lines] == [i["metadata"]["words"] for i in instances]
    assert lines[0]["sentences"] == [[0, 1], [2, 4]]
    # The first two documents share a name: a person in one, a place in the other.
    assert [[entity["label"] for entity in line["entities"]] for line in lines[:2]] == [
        ["PER", "PER"],
        ["LOC", "LOC"],
    ]
    (tmp_path / "in.jsonl").write_text('{"sentences": [["Lima", ":"], ["Lima", "said", "yes"]]}\n')
    predict_file(predictor, str(tmp_path / "in.jsonl"), tmp_path / "out")
    assert json.loads((tmp_path / "out").read_text())["sentences"] == [[0, 1], [2, 4]]


def test_decoding_is_tuned_on_the_sentences_of_documents(archive, data, trained_on_documents):
    metrics = evaluate_from_archive(str(trained_on_documents / "model.tar.gz"), data)
    assert metrics["num-gold-overall"] == 32
    assert metrics["f1-measure-overall"] > 0.95
    instances = read_instances(archive.validation_dataset_reader, data)
    batches = [batch for batch, _, _ in encoded(archive.model, instances, batch_size=5)]
    assert sum(len(batch.mask) for batch in batches) == 40
    assert isinstance(archive.model.head, ChainHead)
    right = [
        (archive.model.head.best_tags(each.emissions, each.mask) == each.gold_tags)[each.mask]
        for each in batches
    ]
    assert sum(map(len, right)) == 88
    assert sum(each.sum() for each in right) / 88 > 0.95


def test_a_report_evaluates_the_sentences_of_documents(archive, data, tmp_path):
    reader, wrong = archive.validation_dataset_reader, tmp_path / "wrong.txt"
    # In the second sentence of the first document, the gold label differs from the prediction.
    text = Path(data).read_text(encoding="utf-8")
    wrong.write_text(text.replace("Lima B-PER\nsaid", "Lima B-LOC\nsaid", 1), encoding="utf-8")
    archive.model.eval()
    evaluation = evaluate(archive.model, reader, str(wrong), 10, 0)
    assert evaluation.num_sentences == len(evaluation.counts) == 40
    assert evaluation.num_words == 88
    assert evaluation.counts[:, 2].sum() == 32
    assert evaluation.num_wrong == 1
    (example,) = evaluation.examples
    assert [segment.text for segment in example.lines["gold"]] == ["Lima", " said yes"]
    (gold,), (predicted,) = (
        [note for segment in example.lines[side] for note in segment.notes]
        for side in ("gold", "predicted")
    )
    assert (gold.label, predicted.label) == ("LOC", "PER")
    assert predicted.probability > 0.5 > gold.probability
    assert gold.probability + predicted.probability <= 1 + 1e-6


def test_span_probabilities_match_the_predictions(archive, data):
    instances = list(archive.validation_dataset_reader.read(data))
    archive.model.eval()
    outputs = archive.model.forward_on_instances(instances)
    found = span_probabilities(archive.model, instances, [spans_of(each) for each in outputs])
    for probabilities, output in zip(found, outputs):
        of_output = [entity["probability"] for entity in output["entities"]]
        assert probabilities == pytest.approx(of_output, abs=1e-6)
