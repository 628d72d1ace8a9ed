"""`train`, `find-lr`, `evaluate` and `predict` on the command line."""

import json
import re

import pytest

from tagger.training.run_folder import TEXT_METRICS_FILE
from tests.conftest import CONFIGS, ROOT

DATA = ROOT / "data/toy/test.txt"


def test_a_finished_run_is_not_trained_again(allennlp, trained, capsys, monkeypatch, at_root):
    def times():
        names = {path.name for path in trained.iterdir()} - {"out.log"}
        return {name: (trained / name).stat().st_mtime_ns for name in names}

    monkeypatch.setattr("allennlp.commands.train.train_model", None)
    config = CONFIGS / "toy_bilstm_crf.jsonnet"
    before = times()
    allennlp("train", config, "-s", trained, "--recover")
    # Only the metrics at the end of training were missing.
    on_text = {TEXT_METRICS_FILE: times()[TEXT_METRICS_FILE]}
    assert times() == before | on_text
    allennlp("train", config, "-s", trained, "--recover")
    assert times() == before | on_text
    with pytest.raises(SystemExit):
        allennlp("train", config, "-s", trained, "--recover", "--force")
    assert "both force and recover are true" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["train", "find-lr"])
def test_force_removes_only_runs(command, allennlp, tmp_path, capsys, at_root):
    (tmp_path / "thesis.tex").touch()
    config = CONFIGS / "toy_bilstm_crf.jsonnet"
    with pytest.raises(SystemExit):
        allennlp(command, config, "-s", tmp_path, "--force")
    assert "which is not the folder of a run" in capsys.readouterr().err
    assert (tmp_path / "thesis.tex").exists()


class StoppedError(Exception):
    """Simulates a kill; nothing catches it."""


@pytest.mark.filterwarnings("ignore:.*unclosed file")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("command", ["evaluate", "predict"])
def test_outputs_are_never_partly_written(command, allennlp, trained, tmp_path, monkeypatch):
    output, inputs = tmp_path / "out.jsonl", DATA
    options = ["--predictions-output-file", output, "--batch-size", "4"]
    if command == "predict":
        inputs = tmp_path / "texts.txt"
        inputs.write_text("Maria left.\nJo came.\n")
        options = ["--output-file", output, "--silent"]
    archive = trained / "model.tar.gz"
    written = []

    from tagger.commands.predict import _LinesManager
    from tagger.predictors import LineSerializer

    owner, name = (LineSerializer, "__call__")
    if command == "predict":
        owner, name = (_LinesManager, "_predict_json")
    original = getattr(owner, name)

    def stop_at_the_second(self, *args, **kwargs):
        written.append(list(tmp_path.glob(".out.jsonl.*")))
        if len(written) > 1:
            raise StoppedError
        return original(self, *args, **kwargs)

    output.write_text("old")
    with monkeypatch.context() as stopped:
        stopped.setattr(owner, name, stop_at_the_second)
        with pytest.raises(StoppedError):
            allennlp(command, archive, inputs, *options)
    assert written[0]
    assert output.read_text() == "old"
    assert not list(tmp_path.glob(".out*"))
    allennlp(command, archive, inputs, *options)
    assert all("tags" in json.loads(line) for line in output.read_text().splitlines())


def test_an_output_may_be_a_device(allennlp, trained):
    allennlp("evaluate", trained / "model.tar.gz", DATA, "--output-file", "/dev/null")


@pytest.mark.parametrize("has_validation", [True, False])
def test_the_metrics_of_any_model_are_shown(has_validation, allennlp, tmp_path, capsys):
    data = tmp_path / "train.tsv"
    data.write_text("a###N b###V c###N\nb###V a###N\n")
    embedding = {"type": "embedding", "embedding_dim": 2}
    config = {
        "dataset_reader": {"type": "sequence_tagging"},
        "train_data_path": str(data),
        **({"validation_data_path": str(data)} if has_validation else {}),
        "model": {
            "type": "simple_tagger",
            "text_field_embedder": {"token_embedders": {"tokens": embedding}},
            "encoder": {"type": "pass_through", "input_dim": 2},
        },
        "data_loader": {"batch_size": 2},
        "trainer": {"optimizer": "adam", "num_epochs": 1},
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    allennlp("train", tmp_path / "config.json", "-s", tmp_path / "run")
    place = "validation data in epoch 1" if has_validation else "training data in the last epoch"
    shown = rf"\nMetrics on the {place}\naccuracy +0\.\d+\naccuracy3 +1\.0000\nloss +0\.\d+\n$"
    assert re.search(shown, capsys.readouterr().out)
    allennlp("evaluate", tmp_path / "run/model.tar.gz", data)
    assert re.search(r"\nMetrics\naccuracy +0\.\d+\naccuracy3 ", capsys.readouterr().out)
