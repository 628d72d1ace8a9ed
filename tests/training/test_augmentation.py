"""Training with augmentation."""

import pytest
from allennlp.commands.train import TrainModel
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError

from tagger.training import AugmentationCallback, RecoverableTrainer
from tests.conftest import CONFIGS
from tests.training.test_recoverable_trainer import break_off, results, train

AUGMENTATION = {"type": "augmentation", "mention_replacement": 0.9, "token_replacement": 0.2}
OVERRIDES = {"trainer.callbacks": ["show_metrics", AUGMENTATION]}


def test_a_recovered_run_repeats_the_draws(tmp_path, at_root):
    train(tmp_path / "unbroken", **OVERRIDES)
    break_off(RecoverableTrainer, "batch_outputs", 5, tmp_path / "run", **OVERRIDES)
    train(tmp_path / "run", recover=True, **OVERRIDES)
    assert results(tmp_path / "run") == results(tmp_path / "unbroken")
    train(tmp_path / "plain")
    assert results(tmp_path / "plain") != results(tmp_path / "unbroken")


def test_development_data_never_change(tmp_path, at_root):
    params = Params.from_file(CONFIGS / "toy_bilstm_crf.jsonnet")
    del params.params["validation_data_loader"]
    params["trainer"]["callbacks"] = [AUGMENTATION]
    (tmp_path / "run").mkdir()
    model = TrainModel.from_params(params, serialization_dir=str(tmp_path / "run"), local_rank=0)
    trainer = model.trainer
    for callback in trainer._callbacks:
        callback.on_start(trainer)

    def words(loader):
        return sorted(each["words"] for batch in loader for each in batch["metadata"])

    dev = trainer._validation_data_loader
    assert words(dev) == words(dev)
    assert words(trainer.data_loader) != words(trainer.data_loader)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "needs a probability above 0: mention_replacement, token_replacement"),
        (
            {"mention_replacement": 1.5},
            "`mention_replacement` must be at least 0 and at most 1; got 1.5",
        ),
        ({"segment_shuffling": "x"}, "`segment_shuffling` must be"),
        ({"token_replacement": 0.1, "threshold": 0}, "`threshold` must be above 0"),
    ],
)
def test_numbers_out_of_range_are_refused(arguments, message):
    with pytest.raises(ConfigurationError, match=message):
        AugmentationCallback("", **arguments)


def test_another_data_loader_is_refused(tmp_path, at_root):
    overrides = {**OVERRIDES, "data_loader.type": "multiprocess"}
    with pytest.raises(ConfigurationError, match="of type `bucketed`; got MultiProcessDataLoader"):
        train(tmp_path / "run", **overrides)
