"""Mistakes of users that AllenNLP answers with half a message, or by doing harm."""

import sys

import allennlp.commands
import pytest
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import SigTermReceived
from allennlp.training.metric_tracker import MetricTracker
from allennlp.training.util import create_serialization_dir


def test_an_unknown_metric_is_answered_by_the_known_ones():
    tracker = MetricTracker("+f1-measure-overal")
    known = {"loss": 1.0, "f1-measure-overall": 0.5, **{f"recall-L{n}": 0.0 for n in range(20)}}
    with pytest.raises(ConfigurationError) as error:
        tracker.add_metrics(known)
    assert "(f1-measure-overall, loss, recall-L0" in str(error.value)
    assert str(error.value).endswith(", ...); did you mean `f1-measure-overall`?")


@pytest.mark.parametrize("folder", ["project", "project/run"])
def test_force_removes_neither_the_current_folder_nor_one_around_it(folder, tmp_path, monkeypatch):
    (tmp_path / "project/run").mkdir(parents=True)
    (tmp_path / folder / "config.json").write_text("{}")
    monkeypatch.chdir(tmp_path / "project/run")
    with pytest.raises(ConfigurationError, match="where you are"):
        create_serialization_dir(Params({}), str(tmp_path / folder), recover=False, force=True)
    assert (tmp_path / folder / "config.json").exists()


def test_force_removes_a_run(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run/config.json").write_text("{}")
    (tmp_path / "run/best.th").touch()
    create_serialization_dir(Params({}), str(tmp_path / "run"), recover=False, force=True)
    assert not list((tmp_path / "run").iterdir())


def test_recover_names_what_differs(tmp_path):
    (tmp_path / "config.json").write_text('{"trainer": {"num_epochs": 3, "patience": null}}')
    params = Params({"trainer": {"num_epochs": 5, "patience": None}, "random_seed": 1})
    with pytest.raises(ConfigurationError) as error:
        create_serialization_dir(params, str(tmp_path), recover=True, force=False)
    assert "`random_seed` is 1 and was missing; `trainer.num_epochs` is 5 and was 3." in str(
        error.value
    )
    equal = Params.from_file(tmp_path / "config.json")
    create_serialization_dir(equal, str(tmp_path), recover=True, force=False)


@pytest.mark.parametrize(
    ("raised", "status"), [(KeyboardInterrupt, 130), (SigTermReceived, 143)], ids=["INT", "TERM"]
)
def test_an_interrupt_is_one_line(raised, status, monkeypatch, capsys):
    def interrupted(args):
        raise raised

    monkeypatch.setattr("allennlp.commands.train.train_model_from_args", interrupted)
    monkeypatch.setattr(sys, "argv", ["allennlp", "train", "x.jsonnet", "-s", "run"])
    with pytest.raises(SystemExit) as exit:
        allennlp.commands.main("allennlp")
    assert exit.value.code == status
    assert capsys.readouterr().err == (
        "allennlp: interrupted; to go on, repeat the command with --recover\n"
    )
