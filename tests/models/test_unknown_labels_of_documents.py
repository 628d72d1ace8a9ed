"""An unknown label of a document or recording counts nowhere: loss, gradient, metrics, thresholds."""

import copy
import json
import random

import pytest
import torch
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.models import Model, load_archive
from allennlp.predictors import Predictor

from tagger.common.training_counts import LabelCounts
from tagger.modules import MultiLabelLoss
from tagger.training.thresholds import threshold_tuner
from tests.recordings import LABELS, recording
from tests.spans.tagged import vocabulary_of

NAMES = ["A", "B", "C"]
BY_BATCH = {"type": "class_balanced_focal", "mode": "average_w", "weight_norm": "by_batch"}


def classifier(loss):
    vocab = vocabulary_of(NAMES)
    vocab.add_token_to_namespace("word", "tokens")
    embedding = {"type": "embedding", "embedding_dim": 2}
    params = {
        "type": "document_classifier",
        "text_field_embedder": {"token_embedders": {"tokens": embedding}},
        "encoder": {"type": "boe"},
        "loss": copy.deepcopy(loss),
    }
    model = Model.from_params(Params(params), vocab=vocab)
    counts = LabelCounts({"labels": {"A": 9, "B": 4, "C": 2}}, {"labels": 20})
    for module in model.modules():
        if hasattr(module, "use_training_counts"):
            module.use_training_counts(counts)
    # The scores stand in for the tokens.
    model.scores = lambda scores: scores
    return model


def outcomes(loss, scores, gold, weights=None):
    """Returns the loss, its gradient, the tuned thresholds, and the metrics of a model."""
    model = classifier(loss).train()
    given = scores.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(model(given, gold, weights=weights)["loss"], given)
    model.eval()
    model.thresholds.start_tuning(threshold_tuner("macro"))
    value = model(scores, gold, weights=weights)["loss"]
    metrics = model.get_metrics(reset=True)
    return value, gradient, model.thresholds.thresholds.clone(), metrics


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("loss", sorted(MultiLabelLoss.list_available()))
def test_what_the_model_thinks_of_unknown_labels_changes_nothing(loss, seed):
    generator = torch.Generator().manual_seed(seed)
    scores = 2 * torch.randn(12, 3, generator=generator)
    gold = torch.randint(-1, 2, (12, 3), generator=generator)
    gold[:2] = -1
    gold[2:4] = torch.tensor([[0, 1, 1], [1, 0, 0]])
    other = torch.where(gold < 0, 5 * torch.randn(12, 3, generator=generator), scores)
    first, second = outcomes(loss, scores, gold), outcomes(loss, other, gold)
    torch.testing.assert_close(first[:3], second[:3])
    assert first[3] == second[3]
    assert (first[1][gold < 0] == 0).all()
    assert (first[1][2:4] != 0).any()
    # Documents of which nothing is known do not even make the mean smaller.
    without = outcomes(loss, scores[2:], gold[2:])
    torch.testing.assert_close((first[0], first[1][2:], first[2]), without[:3])
    assert first[3] == without[3]
    weights = torch.arange(1.0, 13).unsqueeze(1)
    one, two = (outcomes(loss, each, gold, weights)[0] for each in (scores, other))
    torch.testing.assert_close(one, two)


@pytest.mark.parametrize("loss", [*sorted(MultiLabelLoss.list_available()), BY_BATCH], ids=str)
def test_a_weight_of_2_equals_the_document_twice(loss):
    for seed in range(4):
        generator = torch.Generator().manual_seed(seed)
        scores = 2 * torch.randn(5, 3, generator=generator)
        gold = torch.randint(-1, 2, (5, 3), generator=generator)
        times = [2, 0, 1, 0, 3]
        chosen = [row for row, number in enumerate(times) for _ in range(number)]
        given = scores.clone().requires_grad_()
        repeated = classifier(loss).train()(given[chosen], gold[chosen])["loss"]
        (expected,) = torch.autograd.grad(repeated, given)
        weights = torch.tensor(times).float().unsqueeze(1)
        value, gradient, _, _ = outcomes(loss, scores, gold, weights)
        torch.testing.assert_close((value, gradient), (repeated.detach(), expected))


@pytest.mark.parametrize("loss", sorted(MultiLabelLoss.list_available()))
def test_a_batch_of_unknown_labels_has_loss_0_and_a_gradient(loss):
    value, gradient, _, _ = outcomes(loss, torch.randn(2, 3), torch.full((2, 3), -1))
    assert value == 0
    assert (gradient == 0).all()


def trained(tmp_path, reader, embedder, encoder, suffix):
    params = {
        "dataset_reader": reader,
        "train_data_path": str(tmp_path / f"train{suffix}"),
        "validation_data_path": str(tmp_path / f"dev{suffix}"),
        "model": {
            "type": "document_classifier",
            "text_field_embedder": {"token_embedders": embedder},
            "encoder": encoder,
        },
        "data_loader": {"batch_size": 8},
        "trainer": {
            "optimizer": {"type": "adam", "lr": 0.02},
            "num_epochs": 12,
            "validation_metric": "+f1-measure-macro",
            "callbacks": [{"type": "tune_thresholds", "target": "macro"}],
        },
    }
    train_model(Params(params), str(tmp_path / "run"))
    return tmp_path / "run"


def test_a_binary_target_of_documents_some_unknown_is_learnt_and_judged(tmp_path, allennlp):
    """The targets of hidden documents are wrong, so learning or counting them would be seen."""
    for name in ("train", "dev"):
        draws = random.Random(name)
        lines = []
        for i in range(60):
            is_spam = draws.random() < 0.5
            label = {"spam": int(is_spam)} if i % 2 else draws.choice([None, -1, "?", ["?"], {}])
            text = "win money" if is_spam else "dear friend"
            lines.append(json.dumps({"text": text, "labels": label}) + "\n")
        (tmp_path / f"{name}.jsonl").write_text("".join(lines))
    embedder = {"tokens": {"type": "embedding", "embedding_dim": 8}}
    run = trained(tmp_path, {"type": "document"}, embedder, {"type": "boe"}, ".jsonl")
    metrics = json.loads((run / "metrics.json").read_text())
    assert metrics["best_validation_f1-measure-spam"] == 1
    assert metrics["best_validation_num-gold-spam"] < 30
    allennlp("evaluate", run / "model.tar.gz", tmp_path / "dev.jsonl", "--output-file", "/dev/null")
    page = tmp_path / "report.html"
    allennlp("report", run, "-o", page)
    assert "spam" in page.read_text()


@pytest.mark.slow
def test_recordings_as_a_whole_are_classified_and_predicted(tmp_path, allennlp):
    for name, seeds in (("train", range(24)), ("dev", range(24, 36))):
        lines = ["id,x,y,label\n"]
        for seed in seeds:
            numbers, (label, *_) = recording(seed, num_segments=1)
            # Only the first row gives the label, and every fourth recording has none.
            for i, (x, y) in enumerate(numbers.tolist()):
                lines.append(f"r{seed},{x},{y},{label if i == 0 and seed % 4 else ''}\n")
        (tmp_path / f"{name}.csv").write_text("".join(lines))
    reader = {
        "type": "numeric_sequences",
        "number_columns": ["x", "y"],
        "label_columns": "label",
        "sequence_column": "id",
        "whole_recordings": True,
    }
    embedder = {"numbers": {"type": "numbers", "size": 2}}
    encoder = {"type": "cnn", "num_filters": 8, "ngram_filter_sizes": [1, 2]}
    run = trained(tmp_path, reader, embedder, encoder, ".csv")
    metrics = json.loads((run / "metrics.json").read_text())
    assert metrics["best_validation_f1-measure-macro"] > 0.8
    assert metrics["best_validation_by-number-num-items-1"] == 9
    allennlp("report", run, "-o", tmp_path / "report.html")
    predictor = Predictor.from_archive(load_archive(run / "model.tar.gz"))
    numbers, (label, *_) = recording(50, num_segments=1)
    found = predictor.predict_json({"numbers": numbers.tolist()})
    assert max(found["probabilities"], key=found["probabilities"].get) == label
    assert set(found["probabilities"]) == set(LABELS)
    with pytest.raises(ValueError, match="exactly one of `numbers`"):
        predictor.predict_json({"text": "words"})
    with pytest.raises(ValueError, match="reads numbers, not text"):
        predictor.check({"text": "words"})
    allennlp("predict-file", run, tmp_path / "dev.csv", "-o", tmp_path / "predicted.jsonl")
    predicted = [*map(json.loads, (tmp_path / "predicted.jsonl").read_text().splitlines())]
    assert [each["recording"] for each in predicted] == [f"r{seed}" for seed in range(24, 36)]
    assert all(set(each["probabilities"]) == set(LABELS) for each in predicted)
