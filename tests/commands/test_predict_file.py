import json
import sys

import pytest
from allennlp.commands import main
from allennlp.predictors import Predictor

from tagger.commands.predict_file import predict_file
from tests.conftest import ROOT

TEST = str(ROOT / "data/toy/test.txt")


@pytest.fixture
def predictor(archive):
    return Predictor.from_archive(archive)


@pytest.fixture
def texts(tmp_path):
    """A file of thirty inputs, with blank lines among them."""
    path = tmp_path / "texts.txt"
    path.write_text("\n\n".join(" ".join(["Ada"] * (1 + n % 7)) + f" met {n}" for n in range(30)))
    return str(path)


class Killed(BaseException):
    pass


@pytest.fixture
def killed_in_window(predictor, monkeypatch):
    """Makes the predictor die when it comes to a window, counted from 1."""

    def kill(number):
        predict, calls = predictor.predict_batch_json, []

        def until_killed(inputs):
            calls.append(len(inputs))
            if len(calls) == number:
                raise Killed
            return predict(inputs)

        monkeypatch.setattr(predictor, "predict_batch_json", until_killed)

    return kill


@pytest.mark.parametrize("num_bytes_lost", [0, 1, 200, 1500])
def test_a_killed_run_goes_on_to_the_same_bytes(
    predictor, texts, tmp_path, killed_in_window, monkeypatch, num_bytes_lost
):
    whole, output = tmp_path / "whole.jsonl", tmp_path / "killed.jsonl"
    predict_file(predictor, texts, whole, window=8)
    with monkeypatch.context():
        killed_in_window(3)
        with pytest.raises(Killed):
            predict_file(predictor, texts, output, window=8)
    monkeypatch.undo()
    assert not output.exists()
    unfinished = tmp_path / "killed.jsonl.unfinished"
    written = unfinished.read_bytes()
    assert len(written.splitlines()) == 16
    unfinished.write_bytes(written[: len(written) - num_bytes_lost])
    predict_file(predictor, texts, output, window=8)
    assert output.read_bytes() == whole.read_bytes()
    assert not unfinished.exists()


def test_what_is_kept_is_not_predicted_again_but_for_one_window(
    predictor, texts, tmp_path, killed_in_window, monkeypatch, capsys
):
    killed_in_window(4)
    with pytest.raises(Killed):
        predict_file(predictor, texts, tmp_path / "out.jsonl", window=8)
    monkeypatch.undo()
    sizes = []
    predict = predictor.predict_batch_json
    monkeypatch.setattr(
        predictor,
        "predict_batch_json",
        lambda inputs: (sizes.append(len(inputs)), predict(inputs))[1],
    )
    predict_file(predictor, texts, tmp_path / "out.jsonl", window=8)
    assert sizes == [8, 6]
    assert "Kept 24 predictions; made 6 in" in capsys.readouterr().out


@pytest.fixture
def run(trained, monkeypatch, tmp_path):
    """Runs the subcommand, and returns where it writes."""

    def run(*arguments):
        output = tmp_path / "predictions.jsonl"
        command = ["allennlp", "predict-file", str(trained / "model.tar.gz"), *arguments]
        monkeypatch.setattr(sys, "argv", [*command, "-o", str(output)])
        main(prog="allennlp")
        return output

    return run


@pytest.mark.slow
def test_files_of_the_dataset_reader_are_predicted_as_by_predict(run, archive, capsys):
    output = run(TEST, "--use-dataset-reader", "--window", "5")
    instances = list(archive.validation_dataset_reader.read(TEST))
    expected = Predictor.from_archive(archive).predict_batch_instance(instances)
    written = [json.loads(line) for line in output.read_text().splitlines()]
    assert [each["tags"] for each in written] == [each["tags"] for each in expected]
    with pytest.raises(SystemExit, match="already exists.*--force"):
        run(TEST, "--use-dataset-reader")


@pytest.mark.slow
def test_another_runs_output_is_not_continued(run, texts, tmp_path):
    unfinished = tmp_path / "predictions.jsonl.unfinished"
    unfinished.write_text('{"text": "other"}\n' * 8)
    with pytest.raises(SystemExit, match="predictions.jsonl.unfinished:1: this line differs"):
        run(texts, "--window", "8")
    assert unfinished.exists()
    assert len(run(texts, "--window", "8", "--force").read_text().splitlines()) == 30


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["none.txt"], "none.txt"), ([TEST, "--window", "0"], "`--window` must be at least 1; got 0")],
)
def test_what_cannot_be_predicted_is_refused(run, arguments, message):
    with pytest.raises(SystemExit, match=message):
        run(*arguments)
