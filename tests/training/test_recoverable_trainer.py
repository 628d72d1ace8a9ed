"""An interrupted and recovered run ends like an uninterrupted one."""

import errno
import io
import json
import os
import random
import shutil
import tarfile
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import numpy
import pytest
import torch
from allennlp.commands.train import TrainModel, train_model
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data.data_loaders import MultiProcessDataLoader
from allennlp.models.archival import archive_model
from allennlp.training import gradient_descent_trainer
from allennlp.training.trainer import Trainer

from tagger.training import recoverable_trainer, whole_checkpointer
from tagger.training.recoverable_trainer import (
    NamingMetricTracker,
    RecoverableTrainer,
    random_states,
    set_random_states,
)
from tagger.training.run_folder import keep_finished
from tagger.training.whole_checkpointer import WholeCheckpointer
from tests.conftest import CONFIGS, ROOT

#: What depends on time and on the machine.
VARYING = ("duration", "memory", "_speed")
#: Of epochs that are shorter and more than the corpus gives: two batches each.
OVERRIDES = {
    "trainer.num_epochs": 4,
    "trainer.checkpointer": {"keep_most_recent_by_count": 2, "save_every_num_batches": 1},
    "trainer.patience": 50,
    # Some of the last steps are clipped.
    "trainer.grad_norm": 11,
    "data_loader.batch_size": 40,
    "model.encoder.dropout": 0.5,
}


class BrokenOffError(Exception):
    """Simulates a kill; nothing catches it."""


def train(folder, recover=False, **overrides):
    text = json.dumps({**OVERRIDES, **overrides})
    params = Params.from_file(CONFIGS / "toy_bilstm_crf.jsonnet", text)
    return train_model(params, str(folder), recover=recover)


def results(folder):
    metrics = json.loads((folder / "metrics.json").read_text())
    kept = {k: v for k, v in metrics.items() if not any(word in k for word in VARYING)}
    states = sorted(folder.glob("model_state_*.th"))
    weights = {path.name: torch.load(path) for path in [folder / "best.th", states[-1]]}
    return kept, {
        (file, name): tensor.sum().item()
        for file, of_file in weights.items()
        for name, tensor in of_file.items()
    }


def break_off(owner, name, number, folder, **overrides):
    """Trains until a function has been called a number of times."""
    original = getattr(owner, name)
    calls = []

    def broken(*args, **kwargs):
        calls.append(None)
        if len(calls) > number:
            raise BrokenOffError
        return original(*args, **kwargs)

    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(owner, name, broken)
        with pytest.raises(BrokenOffError):
            train(folder, **overrides)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    folder = tmp_path_factory.mktemp("unbroken")
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.chdir(CONFIGS.parent)
        train(folder / "run")
    return results(folder / "run")


@pytest.mark.parametrize(
    ("owner", "name", "number"),
    [
        (RecoverableTrainer, "_train_epoch", 0),
        (RecoverableTrainer, "_train_epoch", 2),
        # In the middle of an epoch, and in the validation after it.
        (RecoverableTrainer, "batch_outputs", 5),
        (RecoverableTrainer, "_validation_loss", 1),
        # Between the checkpoint of the best epoch and its `best.th`.
        (RecoverableTrainer, "_save_model_state", 0),
        # Between the two files of a checkpoint, and before its older ones are removed.
        (WholeCheckpointer, "_training_state_path", 9),
        (WholeCheckpointer, "_remove_checkpoint", 1),
        # After the last epoch.
        (TrainModel, "finish", 0),
    ],
    ids=str,
)
def test_a_recovered_run_ends_like_an_uninterrupted_one(
    owner, name, number, unbroken, tmp_path, at_root
):
    break_off(owner, name, number, tmp_path / "run")
    assert not (tmp_path / "run/metrics.json").exists()
    # A process killed while writing would leave this.
    (tmp_path / "run/.best.th.7.unfinished").write_bytes(b"half")
    train(tmp_path / "run", recover=True)
    assert results(tmp_path / "run") == unbroken
    assert not list((tmp_path / "run").glob(".*.unfinished"))


def test_a_run_that_resumes_within_its_last_epoch_counts_all_steps_of_it(
    unbroken, tmp_path, at_root
):
    # Two batches for training and one for validation in each of three epochs, then one.
    break_off(RecoverableTrainer, "batch_outputs", 10, tmp_path / "run")
    assert (tmp_path / "run/training_state_e3_b1.th").exists()
    train(tmp_path / "run", recover=True)
    (metrics, weights), (expected, expected_weights) = results(tmp_path / "run"), unbroken
    # The documented exception
    assert metrics.pop("training_loss") != expected["training_loss"]
    assert metrics == {name: expected[name] for name in expected if name != "training_loss"}
    assert weights == expected_weights


def test_without_an_average_the_best_weights_are_those_of_the_best_checkpoint(tmp_path, at_root):
    overrides = {"trainer.moving_average": None}
    train(tmp_path / "unbroken", **overrides)
    break_off(gradient_descent_trainer, "hardlink_or_copy", 0, tmp_path / "run", **overrides)
    train(tmp_path / "run", recover=True, **overrides)
    assert results(tmp_path / "run") == results(tmp_path / "unbroken")


def test_a_finished_run_stays_as_it_is(tmp_path, at_root):
    train(tmp_path / "run", **{"trainer.num_epochs": 1})
    metrics = (tmp_path / "run/metrics.json").read_bytes()
    (tmp_path / "run/model.tar.gz").unlink()
    # What a kill in the middle of it would leave.
    (tmp_path / "run/.model.tar.gz.7.unfinished").write_bytes(b"half")
    keep_finished(Params.from_file(tmp_path / "run/config.json"), tmp_path / "run")
    assert (tmp_path / "run/metrics.json").read_bytes() == metrics
    assert (tmp_path / "run/model.tar.gz").exists()
    assert not list((tmp_path / "run").glob(".*.unfinished"))
    with tarfile.open(tmp_path / "run/model.tar.gz") as archive:
        weights = archive.extractfile("weights.th").read()
    assert weights == (tmp_path / "run/best.th").read_bytes()


def test_a_run_that_ran_out_of_patience_trains_no_more(tmp_path, at_root):
    # Its steps are too small for any weight, so that no epoch after the first is better.
    overrides = {"trainer.patience": 2, "trainer.optimizer.lr": 1e-30}
    train(tmp_path / "unbroken", **overrides)
    break_off(TrainModel, "finish", 0, tmp_path / "run", **overrides)
    train(tmp_path / "run", recover=True, **overrides)
    assert results(tmp_path / "run") == results(tmp_path / "unbroken")
    assert results(tmp_path / "run")[0]["epoch"] == 2


def test_the_archive_of_an_interrupt_is_made_again_when_the_run_is_finished(trained, tmp_path):
    shutil.copytree(trained, tmp_path / "run")
    archive, metrics = tmp_path / "run/model.tar.gz", tmp_path / "run/metrics.json"
    archive.write_text("of an interrupt")
    written = metrics.stat().st_mtime_ns
    os.utime(archive, ns=(written - 1, written - 1))
    params = Params.from_file(tmp_path / "run/config.json")
    keep_finished(params, tmp_path / "run")
    assert tarfile.is_tarfile(archive)
    made = archive.stat().st_mtime_ns
    keep_finished(params, tmp_path / "run")
    assert archive.stat().st_mtime_ns == made
    # Without its best weights there is no other archive to make.
    os.utime(archive, ns=(0, 0))
    (tmp_path / "run/best.th").unlink()
    keep_finished(params, tmp_path / "run")
    assert archive.stat().st_mtime_ns == 0
    with pytest.raises(ConfigurationError, match="both force and recover are true"):
        keep_finished(params, tmp_path / "run", force=True)


def test_random_states_are_restored():
    def draw():
        return random.random(), numpy.random.normal(), torch.rand(2).tolist()

    states = random_states()
    first = draw()
    torch.save(states, buffer := io.BytesIO())
    buffer.seek(0)
    # Like a checkpoint, which must not contain code.
    set_random_states(torch.load(buffer))
    assert draw() == first


def test_equal_weights_and_files_give_equal_bytes(trained, tmp_path):
    weights = torch.load(trained / "best.th", weights_only=True)
    archives = []
    for name, modified in (("one", 1e9), ("another", 1.7e9)):
        run = tmp_path / name
        shutil.copytree(trained / "vocabulary", run / "vocabulary")
        for each in ("config.json", "meta.json"):
            shutil.copy(trained / each, run)
        # As the order of a set, which differs from process to process.
        namespaces = run / "vocabulary/non_padded_namespaces.txt"
        namespaces.write_text("*labels\n*tags\n" if name == "one" else "*tags\n*labels\n")
        recoverable_trainer.save_whole(weights, str(run / "best.th"))
        for path in run.rglob("*"):
            os.utime(path, (modified, modified))
        archives.append(archive_model(run, weights="best.th"))
    one, another = map(Path, archives)
    assert (tmp_path / "one/best.th").read_bytes() == (tmp_path / "another/best.th").read_bytes()
    assert one.read_bytes() == another.read_bytes()


def test_files_are_replaced_by_whole_ones_alone(trained, tmp_path, monkeypatch):
    (tmp_path / "model.tar.gz").write_text("old")
    with monkeypatch.context() as full_disk:
        full_disk.setattr(tarfile.TarFile, "add", Mock(side_effect=OSError("no space left")))
        with pytest.raises(OSError, match="no space left"):
            archive_model(trained, archive_path=tmp_path)
    assert (tmp_path / "model.tar.gz").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["model.tar.gz"]
    archive_model(trained, archive_path=tmp_path)
    assert tarfile.is_tarfile(tmp_path / "model.tar.gz")


def test_an_interrupt_while_the_first_best_weights_are_written_stays_an_interrupt(
    tmp_path, monkeypatch, at_root
):
    save_whole = recoverable_trainer.save_whole

    def save(state, path):
        if path.endswith("best.th"):
            raise KeyboardInterrupt
        save_whole(state, path)

    monkeypatch.setattr(recoverable_trainer, "save_whole", save)
    with pytest.raises(KeyboardInterrupt):
        train_model(Params.from_file(CONFIGS / "toy_bilstm_crf.jsonnet"), tmp_path / "run")
    assert not (tmp_path / "run/model.tar.gz").exists()


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(errno.ENOSPC, "disk full")])
def test_what_stops_a_checkpoint_being_written_is_not_hidden_by_the_writer(
    error, tmp_path, monkeypatch
):
    class Breaking(io.BytesIO):
        def write(self, data):
            if self.tell():
                raise error
            return super().write(data)

    @contextmanager
    def breaking(path, overwrite):
        yield SimpleNamespace(open=lambda mode: Breaking())

    monkeypatch.setattr(whole_checkpointer, "write_atomically", breaking)
    with pytest.raises(type(error)) as raised:
        whole_checkpointer.save_whole({"weight": torch.zeros(9)}, "best.th")
    assert raised.value is error
    assert getattr(error, "filename", "best.th") == "best.th"


def test_an_unknown_metric_is_answered_by_the_known_ones():
    tracker = NamingMetricTracker("+f1-measure-overal")
    known = {"loss": 1.0, "f1-measure-overall": 0.5, **{f"recall-L{n}": 0.0 for n in range(20)}}
    with pytest.raises(ConfigurationError) as error:
        tracker.add_metrics(known)
    assert "(f1-measure-overall, loss, recall-L0" in str(error.value)
    assert str(error.value).endswith(", ...); did you mean `f1-measure-overall`?")


def test_the_trainer_of_configs_is_ours_and_tracks_metrics_so(archive, tmp_path):
    loader = SimpleNamespace(set_target_device=lambda device: None)
    arguments = {"model": archive.model, "data_loader": loader, "serialization_dir": str(tmp_path)}
    for name in ("gradient_descent", "recoverable", None):
        params = {"validation_metric": "+f1-measure-overall", "patience": 3, "num_epochs": 1}
        trainer = Trainer.from_params(
            Params({**params, **({"type": name} if name else {})}), **arguments
        )
        assert type(trainer) is RecoverableTrainer
        assert type(trainer._metric_tracker) is NamingMetricTracker
        assert type(trainer._checkpointer) is WholeCheckpointer
        assert trainer._metric_tracker._patience == 3
        assert trainer._metric_tracker.tracked_metrics == [(1.0, "f1-measure-overall")]
    by_position = (archive.model, str(tmp_path), loader)
    assert RecoverableTrainer.from_partial_objects(*by_position).model is archive.model
    for key, message in (
        ("foo", "`trainer` has no key `foo`"),
        ("num_epoch", "did you mean `num_epochs`"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            RecoverableTrainer.from_partial_objects(*by_position, **{key: 1})
    with pytest.raises(ConfigurationError, match="at least 1; got 0"):
        RecoverableTrainer.from_partial_objects(*by_position, num_epochs=0)


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ("crf.transitions", "the steps were too large for `head.crf.transitions`"),
        ("embedder", "which is not trained, contains NaN; correct its file"),
        ("features", "all weights are finite: look for NaN in the features of the data"),
    ],
)
def test_a_nan_loss_is_reported_with_a_likely_cause(broken, reason, archive, tmp_path):
    model = archive.model
    for name, parameter in model.named_parameters():
        if broken in name:
            parameter.data.fill_(torch.nan)
            parameter.requires_grad_(broken != "embedder")
    if broken == "features":
        model.encoder.register_forward_hook(lambda module, inputs, output: output * torch.nan)
    loader = MultiProcessDataLoader(
        archive.validation_dataset_reader, ROOT / "data/toy/test.txt", batch_size=8
    )
    loader.index_with(model.vocab)
    trainer = RecoverableTrainer(
        model,
        torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1),
        loader,
        serialization_dir=str(tmp_path),
        run_confidence_checks=False,
    )
    with pytest.raises(ValueError, match=reason):
        trainer.train()
