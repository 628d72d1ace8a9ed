"""What callbacks log about training and tell the model about the training data."""

import json
import logging
import re
from collections import Counter
from typing import ClassVar
from unittest.mock import Mock

import pytest
import torch
import torch.distributed
from allennlp.commands.evaluate import evaluate_from_archive
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DataLoader, DatasetReader, Instance, Token
from allennlp.data.data_loaders import SimpleDataLoader
from allennlp.data.fields import TextField
from allennlp.data.token_indexers import SingleIdTokenIndexer
from allennlp.models import load_archive
from allennlp.training.callbacks import TrainerCallback

from tagger.data import TagField
from tagger.training import supply_training_counts
from tests.conftest import CONFIGS

TABLE = re.compile(r"^spans +precision +recall +F1 +gold$", re.MULTILINE)


@pytest.fixture
def toy(at_root):
    return Params.from_file(CONFIGS / "toy_bilstm_crf.jsonnet")


def train(params, folder, **trainer):
    """Trains, and returns what is on the screen and the metrics."""
    params["trainer"].update({"num_epochs": 1, **trainer})
    train_model(params, str(folder))
    return (folder / "out.log").read_text(), json.loads((folder / "metrics.json").read_text())


@pytest.mark.parametrize(("grad_norm", "share"), [(1e-6, 1.0), (1e6, 0.0), (True, None)])
def test_the_share_of_clipped_steps_is_logged(grad_norm, share, toy, tmp_path):
    settings = {"callbacks": ["log_clipping"], "grad_norm": grad_norm, "num_epochs": 2}
    log, metrics = train(toy, tmp_path / "run", **settings)
    assert metrics.get("training_share-clipped") == share
    line = (
        f"`grad_norm` {grad_norm:g} clipped the gradients of {100 * (share or 0):.1f} % of 16 steps"
    )
    assert log.count(line) == bool(share)
    # Other callbacks show tables.
    assert not TABLE.search(log)
    assert not any("confusion-" in name for name in metrics)


@TrainerCallback.register("confusions_of_epochs")
class ConfusionsOfEpochs(TrainerCallback):
    seen: ClassVar = {}

    def on_epoch(self, trainer, metrics, epoch, **kwargs):
        self.seen[epoch] = {
            f"best_validation_{name}": number
            for name, number in trainer.validation_confusions.items()
        }
        # No epoch of this corpus is worse than the one before.
        metrics["best_epoch"] = min(epoch, 4)


def test_training_ends_with_one_table_of_the_best_epoch(toy, tmp_path):
    callbacks = ["confusions_of_epochs", "show_metrics"]
    log, metrics = train(toy, tmp_path / "run", num_epochs=8, callbacks=callbacks)
    assert len(TABLE.findall(log)) == 1
    assert "Metrics on the validation data in epoch 5\nspans " in log
    confusions = {name: number for name, number in metrics.items() if "confusion-" in name}
    assert confusions == ConfusionsOfEpochs.seen[4] != ConfusionsOfEpochs.seen[7]
    assert metrics["best_validation_num-gold-PER"] == 8


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


def test_test_data_at_the_end_of_training_have_a_table_too(allennlp, at_root, tmp_path, capsys):
    config, run = CONFIGS / "toy_bilstm_crf.jsonnet", tmp_path / "run"
    test = {"test_data_path": "data/toy/test.txt", "evaluate_on_test": True}
    allennlp("train", config, "-s", run, "-o", json.dumps({**test, "trainer.num_epochs": 1}))
    assert re.findall("Metrics.*(?=\nspans)", capsys.readouterr().out) == [
        "Metrics on the validation data in epoch 1",
        "Metrics on the test data",
    ]
    metrics = json.loads((run / "metrics.json").read_text())
    assert any(name.startswith("test_token-confusion-") for name in metrics)


def sentence(tags):
    text = TextField([Token(tag) for tag in tags], {"tokens": SingleIdTokenIndexer()})
    return Instance({"tokens": text, "tags": TagField(tags, text, unknown_tag="?")})


class Listener(torch.nn.Module):
    """A module that keeps the training counts it receives."""

    def use_training_counts(self, counts):
        self.counts = counts


def start(data_loader):
    """The counts that a part of a model is told when training on this data starts."""
    listener = Listener()
    supply_training_counts(torch.nn.Sequential(torch.nn.Tanh(), listener), data_loader)
    return listener.counts


def test_each_module_that_asks_is_told_the_counts_of_the_training_data():
    counts = start(SimpleDataLoader([sentence(["O", "?", "B-PER"]), sentence(["O"])], 2))
    assert (counts, counts.num_items) == ({"labels": {"O": 2, "B-PER": 1}}, {"labels": 3})


def test_a_loader_must_list_its_instances_if_the_model_asks_for_counts():
    data_loader = Mock()
    supply_training_counts(torch.nn.Linear(1, 1), data_loader)
    data_loader.iter_instances.assert_not_called()
    with pytest.raises(ConfigurationError, match="`iter_instances`, which DataLoader lacks"):
        start(DataLoader())


def count_in_a_worker(rank, folder, shares, expected):
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/rendezvous", world_size=2, rank=rank
    )
    counts = start(SimpleDataLoader([sentence(tags) for tags in shares[rank]], 2))
    assert (counts, counts.num_items) == (expected, {"labels": 7})
    torch.distributed.destroy_process_group()


@pytest.mark.slow
@pytest.mark.usefixtures("warm_python")
def test_two_workers_count_like_one(tmp_path):
    shares = [[["O", "B-PER"], ["O", "O"]], [["B-LOC", "I-LOC", "O"]]]
    expected = {"labels": {"O": 4, "B-PER": 1, "B-LOC": 1, "I-LOC": 1}}
    torch.multiprocessing.spawn(count_in_a_worker, args=(tmp_path, shares, expected), nprocs=2)


@pytest.mark.slow
def test_weights_by_rule_are_saved_with_the_model_and_loaded(tmp_path, at_root):
    weighting = {"type": "emission", "weight_rule": "balanced"}
    overrides = {"model.head.weighting": weighting, "trainer.num_epochs": 1}
    params = Params.from_file(CONFIGS / "toy_bilstm_crf.jsonnet", overrides)
    reader = DatasetReader.from_params(params["dataset_reader"].duplicate())
    counts = Counter(
        tag for each in reader.read("data/toy/train.txt") for tag in each["tags"].labels
    )
    trained = train_model(params, str(tmp_path / "run"))
    model = load_archive(tmp_path / "run" / "model.tar.gz").model
    weights = dict(zip(model.tags, model.head.crf.weighting.tag_weights.tolist()))
    expected = {tag: counts.total() / (len(counts) * n) for tag, n in counts.items()}
    assert weights == pytest.approx({**dict.fromkeys(model.tags, 1), **expected})
    assert trained.head.crf.weighting.tag_weights.tolist() == list(weights.values())
