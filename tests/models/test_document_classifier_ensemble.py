"""Ensembles of document classifiers."""

import json

import pytest
import torch
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.models import Model, load_archive
from allennlp.predictors import Predictor

from tagger.models import DocumentClassifierEnsemble
from tagger.models.sequence_tagger_ensemble import AVERAGES
from tagger.modules.multi_label_losses import BinaryCrossEntropyLoss
from tests.models.batches import tensors

TEXTS = {
    "wheat corn": ["grain"],
    "bank rates": ["money"],
    "wheat bank": ["grain", "money"],
    "the of": [],
}


def config(folder, loss, seed):
    for name in ("train", "dev"):
        lines = (json.dumps({"text": text, "labels": labels}) for text, labels in TEXTS.items())
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    embedding = {"type": "embedding", "embedding_dim": 4}
    return {
        "dataset_reader": {"type": "document"},
        "train_data_path": str(folder / "train.jsonl"),
        "validation_data_path": str(folder / "dev.jsonl"),
        "model": {
            "type": "document_classifier",
            "text_field_embedder": {"token_embedders": {"tokens": embedding}},
            "encoder": {"type": "bag_of_embeddings", "averaged": True},
            "loss": {"type": loss},
            "threshold": 0.4 + 0.1 * seed,
        },
        "data_loader": {"type": "bucketed", "batch_size": 2},
        "trainer": {
            "optimizer": {"type": "adam", "lr": 0.05},
            "num_epochs": 3,
        },
        "random_seed": seed,
        "numpy_seed": seed,
        "pytorch_seed": seed,
    }


@pytest.fixture
def archives(tmp_path):
    """Two archives of classifiers that differ in their seed, their loss and their thresholds."""
    losses = ["binary_cross_entropy", "class_balanced_negative_tolerant"]
    for seed, loss in enumerate(losses):
        train_model(Params(config(tmp_path, loss, seed)), str(tmp_path / loss))
    return [tmp_path / loss / "model.tar.gz" for loss in losses]


@pytest.mark.parametrize("average", AVERAGES)
def test_an_archive_averages_its_members(average, archives, allennlp, tmp_path):
    output = tmp_path / "both.tar.gz"
    allennlp("ensemble", *archives, "-o", output, "--average", average)
    both, *members = map(load_archive, (output, *archives))
    assert type(both.model) is DocumentClassifierEnsemble
    instances = list(both.validation_dataset_reader.read(tmp_path / "dev.jsonl"))
    batch = tensors(both.model, instances)
    found = both.model.eval()(**batch)
    of_members = torch.stack([each.model.eval()(**batch)["probabilities"] for each in members])
    expected = of_members.mean(0)
    if average == "emissions":
        expected = torch.sigmoid(torch.logit(of_members).mean(0))
    torch.testing.assert_close(found["probabilities"], expected)
    torch.testing.assert_close(both.model.thresholds.thresholds, torch.tensor([0.45, 0.45]))
    assert torch.equal(found["predicted_labels"], expected >= 0.45)
    loss = BinaryCrossEntropyLoss()(torch.logit(expected), batch["labels"]).mean()
    torch.testing.assert_close(found["loss"], loss)


def test_scores_never_round_to_certainty(archives):
    members = [load_archive(path).model.eval() for path in archives]
    for member in members:
        member.projection.bias.data.fill_(200.0)
    ensemble = DocumentClassifierEnsemble(members[0].vocab, members, "marginals").eval()
    reader = load_archive(archives[0]).validation_dataset_reader
    batch = tensors(ensemble, list(reader.read(archives[0].parents[1] / "dev.jsonl")))
    assert ensemble.scores(batch["tokens"]).isfinite().all()


def test_every_command_takes_an_ensemble(archives, allennlp, tmp_path, capsys):
    output = tmp_path / "both.tar.gz"
    allennlp("ensemble", *archives, "-o", output)
    dev = tmp_path / "dev.jsonl"
    allennlp("evaluate", output, dev, "--output-file", tmp_path / "metrics.json")
    assert "f1-measure-macro" in json.loads((tmp_path / "metrics.json").read_text())
    tuned = tmp_path / "tuned.tar.gz"
    allennlp("tune-decoding", output, dev, "-o", tuned, "--target", "macro")
    (tmp_path / "new.txt").write_text("wheat corn\nbank rates\n")
    allennlp("predict-file", tuned, tmp_path / "new.txt", "-o", tmp_path / "found.jsonl")
    assert len((tmp_path / "found.jsonl").read_text().splitlines()) == 2
    predictor = Predictor.from_path(tuned)
    assert predictor.predict_json({"text": "wheat corn"})["labels"] == ["grain"]


def test_members_must_be_classifiers():
    vocab = Vocabulary()
    with pytest.raises(ConfigurationError, match="must hold at least one classifier; got none"):
        DocumentClassifierEnsemble(vocab, [], "marginals")
    with pytest.raises(ConfigurationError, match="of type `document_classifier`; got number 0, a"):
        DocumentClassifierEnsemble(vocab, [Model(vocab)], "marginals")
