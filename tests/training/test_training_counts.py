from collections import Counter
from unittest.mock import Mock

import pytest
import torch
import torch.distributed
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DataLoader, DatasetReader, Instance, Token
from allennlp.data.data_loaders import SimpleDataLoader
from allennlp.data.fields import TextField
from allennlp.data.token_indexers import SingleIdTokenIndexer
from allennlp.models import load_archive

from tagger.data import TagField
from tagger.training import TrainingCountsCallback
from tests.conftest import CONFIGS


def sentence(tags):
    text = TextField([Token(tag) for tag in tags], {"tokens": SingleIdTokenIndexer()})
    return Instance({"tokens": text, "tags": TagField(tags, text, unknown_tag="?")})


class Listener(torch.nn.Module):
    """A module that keeps the counts that it is told."""

    def use_training_counts(self, counts):
        self.counts = counts


def start(data_loader):
    """The counts that a part of a model is told when training on this data starts."""
    listener = Listener()
    trainer = Mock(data_loader=data_loader, model=torch.nn.Sequential(torch.nn.Tanh(), listener))
    TrainingCountsCallback(serialization_dir="").on_start(trainer)
    return listener.counts


def test_each_module_that_asks_is_told_the_counts_of_the_training_data():
    counts = start(SimpleDataLoader([sentence(["O", "?", "B-PER"]), sentence(["O"])], 2))
    assert (counts, counts.num_items) == ({"labels": {"O": 2, "B-PER": 1}}, {"labels": 3})


def test_nothing_is_counted_for_a_model_that_asks_for_nothing():
    trainer = Mock(model=torch.nn.Linear(1, 1))
    TrainingCountsCallback(serialization_dir="").on_start(trainer)
    trainer.data_loader.iter_instances.assert_not_called()


def test_a_loader_that_cannot_list_its_instances_is_refused():
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
def test_two_workers_count_as_one(tmp_path):
    shares = [[["O", "B-PER"], ["O", "O"]], [["B-LOC", "I-LOC", "O"]]]
    expected = {"labels": {"O": 4, "B-PER": 1, "B-LOC": 1, "I-LOC": 1}}
    torch.multiprocessing.spawn(count_in_a_worker, args=(tmp_path, shares, expected), nprocs=2)


def toy_params(**changes):
    weighting = {"type": "emission", "weight_rule": "balanced"}
    overrides = {"model.head.weighting": weighting, "trainer.num_epochs": 1, **changes}
    return Params.from_file(CONFIGS / "toy_bilstm_crf.jsonnet", overrides)


@pytest.mark.slow
def test_weights_by_rule_are_saved_with_the_model_and_loaded(tmp_path, at_root):
    params = toy_params()
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


def test_a_rule_without_the_callback_is_an_error_that_names_it(tmp_path, at_root):
    with pytest.raises(RuntimeError, match=r"add `callbacks: \['training_counts'\]`"):
        train_model(toy_params(**{"trainer.callbacks": []}), str(tmp_path / "run"))
