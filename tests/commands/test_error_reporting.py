"""What the command `allennlp` says, in processes of their own that share one import of AllenNLP."""

import json
import logging
import sys
from types import SimpleNamespace

import allennlp.commands
import pytest
from allennlp.common import Params
from allennlp.common.tqdm import Tqdm
from allennlp.common.util import SigTermReceived
from allennlp.training.trainer import Trainer

from tagger.common import console
from tagger.training.callbacks import EpochLineCallback
from tests.conftest import ROOT


@pytest.fixture
def command(monkeypatch, capsys):
    """Runs a command of `allennlp` as its entry point does; gives exit status and what it wrote."""
    monkeypatch.delenv("ALLENNLP_LOG_LEVEL", raising=False)
    monkeypatch.delenv("ALLENNLP_DEBUG", raising=False)

    def run(*arguments, prog="allennlp"):
        monkeypatch.setattr(sys, "argv", ["allennlp", *map(str, arguments)])
        status = 0
        try:
            allennlp.commands.main(prog)
        except SystemExit as exit:
            status = exit.code
        return status, capsys.readouterr()

    return run


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no/such.tar.gz", "x"], "allennlp: file no/such.tar.gz not found"),
        (["{archive}", "no/such.txt"], "allennlp: no/such.txt: expected a file"),
        (["{archive}", "{folder}/bad.txt"], "allennlp: {folder}/bad.txt:2: "),
        (["{archive}", "{toy}", "-o", "{{"], "allennlp: `--overrides` cannot be read: "),
        (
            ["{archive}", "{toy}", "-o", '{{"model.head.decoding": "x"}}'],
            "allennlp: `decoding` must",
        ),
    ],
)
def test_an_error_that_users_can_mend_is_one_line(arguments, message, command, trained, tmp_path):
    (tmp_path / "bad.txt").write_text("word O\nword XX\n")
    names = {
        "archive": trained / "model.tar.gz",
        "folder": tmp_path,
        "toy": ROOT / "data/toy/test.txt",
    }
    status, captured = command("evaluate", *(text.format(**names) for text in arguments))
    assert status == 1
    assert captured.err.splitlines()[-1].startswith(message.format(**names))
    assert "Traceback" not in captured.err


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (
            "needy.parts",
            "needy/parts.py:2: imports `allennlp_nothing`, which is not installed; run: pip install "
            "--no-deps allennlp-nothing",
        ),
        ("needy.other", "`--include-package` names `needy.other`, which is neither a module below"),
        ("nothing", "`--include-package` names `nothing`, which is neither a module below"),
    ],
)
def test_a_missing_package_is_one_line(module, message, command, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "needy").mkdir()
    (tmp_path / "needy/parts.py").write_text("import json\nimport allennlp_nothing.models\n")
    status, captured = command("evaluate", "x", "y", "--include-package", module)
    assert status == 1
    assert message in captured.err.splitlines()[-1]
    assert "Traceback" not in captured.err


def test_the_terminal_obeys_no_words_of_data(command, trained, tmp_path, capsys):
    (tmp_path / "bad.txt").write_text("word \x1b[2J\n")
    _, captured = command("evaluate", trained / "model.tar.gz", tmp_path / "bad.txt")
    line = captured.err.splitlines()[-1]
    assert line.isprintable()
    assert "x1b[2J" in line
    try:
        raise RuntimeError("\x9b2J")
    except RuntimeError:
        sys.excepthook(*sys.exc_info())
    assert "Error: \\x9b2J\n" in capsys.readouterr().err
    console.say("PER\x1b[2J\ta\nb\u202e \ud800")
    assert capsys.readouterr().out == "PER\\x1b[2J\ta\nb\\u202e \\ud800\n"


def test_an_error_of_a_program_keeps_its_traceback(command, monkeypatch, trained):
    def broken(*args, **kwargs):
        raise ValueError("a bug")

    monkeypatch.setattr("allennlp.commands.evaluate.load_archive", broken)
    with pytest.raises(ValueError, match="a bug"):
        command("evaluate", trained / "model.tar.gz", "x")


def test_code_that_calls_main_gets_the_exceptions(command):
    with pytest.raises(FileNotFoundError):
        command("evaluate", "no/such.tar.gz", "x", prog=None)


@pytest.mark.parametrize("level", [None, "WARNING", "INFO"])
def test_the_scores_are_the_last_that_evaluate_prints(level, command, monkeypatch, trained):
    if level:
        monkeypatch.setenv("ALLENNLP_LOG_LEVEL", level)
    _, captured = command("evaluate", trained / "model.tar.gz", ROOT / "data/toy/test.txt")
    lines = captured.out.splitlines()
    assert lines[-1].startswith("calibration error")
    (start,) = (i for i, line in enumerate(lines) if line.startswith("spans    precision"))
    assert all(not line.endswith("Finished evaluating.") for line in lines[start:])


def test_after_a_command_results_are_only_logged(command, trained, caplog):
    command("evaluate", trained / "model.tar.gz", ROOT / "data/toy/test.txt")
    assert console._last_texts == []
    caplog.clear()
    with caplog.at_level(logging.INFO):
        console.show_last("Scores", "new")
    assert caplog.messages == ["Scores\nnew"]
    assert console._last_texts == []


def test_a_title_is_shown_once(monkeypatch):
    monkeypatch.setattr(console, "_is_command", True)
    monkeypatch.setattr(console, "_last_texts", [])
    console.show_last("Scores", "old")
    console.show_last("Others", "table")
    console.show_last("Scores", "new")
    assert console._last_texts == ["Others\ntable", "Scores\nnew"]


def test_predictions_of_evaluate_are_one_a_line(command, trained, tmp_path):
    output = tmp_path / "predictions.jsonl"
    data = ROOT / "data/toy/test.txt"
    command("evaluate", trained / "model.tar.gz", data, "--predictions-output-file", output)
    predictions = [json.loads(line) for line in output.read_text().splitlines()]
    sentences = data.read_text().strip().split("\n\n")
    lengths = sorted(len(sentence.splitlines()) for sentence in sentences)
    assert sorted(len(prediction["tags"]) for prediction in predictions) == lengths
    assert set(predictions[0]) == {"words", "tags", "entities"}


def test_an_epoch_is_one_line(caplog):
    metrics = {"epoch": 1, "training_loss": 2.0, "validation_loss": 1.5, "best_epoch": 0}
    metrics["validation_f1-measure-overall"] = 0.5

    class OfFiveEpochs:
        _num_epochs = 5

    with caplog.at_level(logging.INFO, "tagger"):
        EpochLineCallback("").on_epoch(OfFiveEpochs(), metrics, 1)
    (line,) = caplog.messages
    assert line == (
        "epoch 2 of 5: training loss 2.000, validation loss 1.500, f1-measure-overall 0.5000"
    )


@pytest.mark.parametrize(("level", "is_shown"), [(None, False), ("INFO", True)])
def test_the_console_shows_what_is_worth_reading(level, is_shown, monkeypatch, capsys):
    monkeypatch.delenv("ALLENNLP_LOG_LEVEL", raising=False)
    if level:
        monkeypatch.setenv("ALLENNLP_LOG_LEVEL", level)
    handler = logging.StreamHandler(sys.stderr)
    console.quieten([handler])
    for name, severity in [("allennlp.x", "INFO"), ("allennlp.x", "WARNING"), ("tagger.x", "INFO")]:
        record = logging.LogRecord(
            name, getattr(logging, severity), "", 0, f"{severity} of {name}", None, None
        )
        handler.handle(record)
    shown = capsys.readouterr().err
    assert ("INFO of allennlp.x" in shown) == is_shown
    assert "WARNING of allennlp.x" in shown
    assert "INFO of tagger.x" in shown


def test_bars_are_drawn_on_terminals_alone_and_name_the_epoch(monkeypatch, capsys, caplog):
    monkeypatch.setattr(console, "_activity", "epoch 2 of 5, training")
    # A training before may have left its log file there.
    tqdm_logger = logging.getLogger("tqdm")
    monkeypatch.setattr(tqdm_logger, "handlers", [])
    with caplog.at_level(logging.INFO, "tqdm"):
        tqdm_logger.addHandler(caplog.handler)
        list(Tqdm.tqdm(range(3)))
    assert capsys.readouterr().err == ""
    assert "0/3" in caplog.messages[0]
    assert "3/3" in caplog.messages[1]
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    bar = Tqdm.tqdm(range(3), mininterval=0)
    bar.set_description("loss: 1.5")
    list(bar)
    assert "epoch 2 of 5, training, loss: 1.5" in capsys.readouterr().err


def test_what_users_have_asked_for_is_no_warning(archive, monkeypatch, capsys, caplog, tmp_path):
    monkeypatch.delenv("ALLENNLP_LOG_LEVEL", raising=False)
    handler = logging.StreamHandler(sys.stderr)
    console.quieten([handler])
    logger = logging.getLogger("allennlp.training.gradient_descent_trainer")
    logger.addHandler(handler)
    try:
        params = Params({"type": "gradient_descent", "num_epochs": 1})
        loader = SimpleNamespace(set_target_device=lambda device: None)
        Trainer.from_params(
            params,
            model=archive.model,
            data_loader=loader,
            validation_data_loader=loader,
            serialization_dir=str(tmp_path),
        )
    finally:
        logger.removeHandler(handler)
    assert "patience was set to None" in caplog.text
    assert "patience" not in capsys.readouterr().err


def test_a_loss_without_a_part_for_each_instance_is_no_warning(archive, caplog):
    reader = archive.validation_dataset_reader
    instances = list(reader.read(ROOT / "data/toy/test.txt"))[:2]
    for instance in instances:
        reader.apply_token_indexers(instance)
    assert len(archive.model.forward_on_instances(instances)) == 2
    assert "loss key" not in caplog.text


@pytest.mark.parametrize(
    ("raised", "status"), [(KeyboardInterrupt, 130), (SigTermReceived, 143)], ids=["INT", "TERM"]
)
def test_an_interrupt_is_one_line(raised, status, monkeypatch, capsys):
    def interrupted(*args):
        raise raised

    monkeypatch.setattr("tagger.commands.train._train_unless_finished", interrupted)
    monkeypatch.setattr(sys, "argv", ["allennlp", "train", "x.jsonnet", "-s", "run"])
    with pytest.raises(SystemExit) as exit:
        allennlp.commands.main("allennlp")
    assert exit.value.code == status
    assert capsys.readouterr().err == (
        "allennlp: interrupted; to go on, repeat the command with --recover\n"
    )
