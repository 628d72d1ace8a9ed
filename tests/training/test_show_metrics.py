"""What users see of metrics in training and evaluation."""

import json
import logging
import re

import pytest
from allennlp.commands.evaluate import evaluate_from_archive
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.training.callbacks import TrainerCallback

from tests.conftest import CONFIGS

TABLE = re.compile(r"^spans +precision +recall +F1 +gold$", re.MULTILINE)


@pytest.fixture
def toy(at_root):
    return Params.from_file(CONFIGS / "toy_bilstm_crf.jsonnet")


@TrainerCallback.register("confusions_of_epochs")
class ConfusionsOfEpochs(TrainerCallback):
    seen = {}

    def on_epoch(self, trainer, metrics, epoch, **kwargs):
        self.seen[epoch] = {
            f"best_validation_{name}": number for name, number in trainer.model.confusions.items()
        }
        # No epoch of this corpus is worse than the one before.
        metrics["best_epoch"] = min(epoch, 4)


def train(params, folder, num_epochs):
    """Trains, and returns what is on the screen and the metrics."""
    params["trainer"]["num_epochs"] = num_epochs
    train_model(params, str(folder))
    return (folder / "out.log").read_text(), json.loads((folder / "metrics.json").read_text())


def test_training_ends_with_one_table_of_the_best_epoch(toy, tmp_path):
    toy["trainer"]["callbacks"] = ["confusions_of_epochs", "show_metrics"]
    log, metrics = train(toy, tmp_path / "run", num_epochs=8)
    assert len(TABLE.findall(log)) == 1
    assert "Metrics on the validation data in epoch 5\nspans " in log
    confusions = {name: number for name, number in metrics.items() if "confusion-" in name}
    assert confusions == ConfusionsOfEpochs.seen[4] != ConfusionsOfEpochs.seen[7]
    assert metrics["best_validation_num-gold-PER"] == 8


def test_without_the_callback_training_shows_no_table(toy, tmp_path):
    toy["trainer"]["callbacks"] = []
    log, metrics = train(toy, tmp_path / "run", num_epochs=1)
    assert not TABLE.search(log)
    assert not any("confusion-" in name for name in metrics)


def test_evaluation_shows_a_table_and_writes_its_numbers(trained, at_root, tmp_path, caplog):
    out = tmp_path / "metrics.json"
    with caplog.at_level(logging.INFO):
        evaluate_from_archive(trained / "model.tar.gz", "data/toy/test.txt", str(out))
    (table,) = [r.getMessage() for r in caplog.records if TABLE.search(r.getMessage())]
    metrics = json.loads(out.read_text())
    assert f"{metrics['f1-measure-overall']:.4f}" in table
    assert "spans: gold > predicted" in table
    right = sum(metrics.get(f"confusion-{x}>{x}", 0) for x in ("PER", "LOC", "ORG", "EVENT"))
    assert right / metrics["num-gold-overall"] == metrics["recall-overall"]
    assert all(isinstance(value, (int, float)) for value in metrics.values())


def test_test_data_at_the_end_of_training_have_a_table_too(toy, tmp_path):
    toy["test_data_path"], toy["evaluate_on_test"] = "data/toy/test.txt", True
    log, metrics = train(toy, tmp_path / "run", num_epochs=1)
    assert re.findall("Metrics.*(?=\nspans)", log) == [
        "Metrics on the validation data in epoch 1",
        "Metrics",
    ]
    assert any(name.startswith("test_token-confusion-") for name in metrics)
