"""The messages and exit statuses of `allennlp`."""

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

TEST = str(ROOT / "data/toy/test.txt")


@pytest.fixture
def evaluate(run_here, trained):
    """Runs `evaluate` on the toy archive."""
    return lambda *arguments: run_here(
        ["evaluate", trained / "model.tar.gz", *arguments], trained.parent
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("no/such.tar.gz x", "file no/such.tar.gz not found"),
        ("{archive} no/such.txt", "no/such.txt: expected a file"),
        ("{archive} bad.txt", "bad.txt:2: "),
        ("{archive} {toy} -o {{", "`--overrides` cannot be read: "),
        ('{archive} {toy} -o {{"model.head.decoding":"x"}}', "`decoding` must"),
        ("x y --include-package needy.parts", "needy/parts.py:2: imports `allennlp_nothing`, which is "
         "not installed; run: pip install --no-deps allennlp-nothing"),
        ("x y --include-package needy.other", "`--include-package` names `needy.other`, which is "
         "neither a module below"),
        ("x y --include-package nothing", "`--include-package` names `nothing`, which is neither"),
    ],
)  # fmt: skip
def test_a_user_error_is_one_line(arguments, message, run_here, trained, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "bad.txt").write_text("word O\nword XX\n")
    (tmp_path / "needy").mkdir()
    (tmp_path / "needy/parts.py").write_text("import json\nimport allennlp_nothing.models\n")
    arguments = arguments.format(archive=trained / "model.tar.gz", toy=TEST)
    outcome = run_here(["evaluate", *arguments.split()], tmp_path)
    assert outcome.status == 1
    assert outcome.last_line.startswith("allennlp: ")
    assert message in outcome.last_line
    assert not outcome.has_traceback


def test_control_characters_in_data_do_not_reach_the_terminal(evaluate, tmp_path, capsys):
    (tmp_path / "bad.txt").write_text("word \x1b[2J\n")
    line = evaluate(tmp_path / "bad.txt").last_line
    assert line.isprintable()
    assert "x1b[2J" in line
    try:
        raise RuntimeError("\x9b2J")
    except RuntimeError:
        sys.excepthook(*sys.exc_info())
    assert "Error: \\x9b2J\n" in capsys.readouterr().err
    console.say("PER\x1b[2J\ta\nb\u202e \ud800")
    assert capsys.readouterr().out == "PER\\x1b[2J\ta\nb\\u202e \\ud800\n"


def test_a_bug_keeps_its_traceback(evaluate, monkeypatch):
    def broken(*args, **kwargs):
        raise ValueError("a bug")

    # Python code that calls `main` receives the exception itself.
    monkeypatch.setattr(sys, "argv", ["allennlp", "evaluate", "no/such.tar.gz", "x"])
    with pytest.raises(FileNotFoundError):
        allennlp.commands.main(None)
    monkeypatch.setattr("allennlp.commands.evaluate.load_archive", broken)
    with pytest.raises(ValueError, match="a bug"):
        evaluate("x")


@pytest.mark.parametrize("level", [None, "WARNING", "INFO"])
def test_evaluate_prints_the_scores_last(level, evaluate, monkeypatch, caplog):
    if level:
        monkeypatch.setenv("ALLENNLP_LOG_LEVEL", level)
    lines = evaluate(TEST).output[:-1]
    assert lines[-1].startswith("calibration error")
    (start,) = (i for i, line in enumerate(lines) if line.startswith("spans    precision"))
    assert all(not line.endswith("Finished evaluating.") for line in lines[start:])
    # After the command, results are only logged.
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


@pytest.mark.slow
def test_evaluate_can_write_one_prediction_per_line_in_file_order(evaluate, tmp_path):
    output, loader = tmp_path / "predictions.jsonl", "validation_data_loader"
    overrides = json.dumps({f"{loader}.sort_by_length": False, f"{loader}.batch_size": 4})
    evaluate(TEST, "--predictions-output-file", output, "-o", overrides)
    predictions = [json.loads(line) for line in output.read_text().splitlines()]
    assert set(predictions[0]) == {"words", "tags", "entities"}
    sentences = (ROOT / "data/toy/test.txt").read_text().strip().split("\n\n")
    assert [each["words"] for each in predictions] == [
        [line.split()[0] for line in sentence.splitlines()] for sentence in sentences
    ]


def test_an_epoch_is_logged_in_one_line(caplog):
    metrics = {"epoch": 1, "training_loss": 2.0, "validation_loss": 1.5, "best_epoch": 0}
    metrics["validation_f1-measure-overall"] = 0.5

    trainer = SimpleNamespace(_num_epochs=5)
    with caplog.at_level(logging.INFO, "tagger"):
        EpochLineCallback("").on_epoch(trainer, metrics, 1)
    (line,) = caplog.messages
    assert line == (
        "epoch 2 of 5: training loss 2.000, validation loss 1.500, f1-measure-overall 0.5000"
    )


@pytest.mark.parametrize(("level", "is_shown"), [(None, False), ("INFO", True)])
def test_the_console_hides_routine_logs(level, is_shown, monkeypatch, capsys):
    monkeypatch.delenv("ALLENNLP_LOG_LEVEL", raising=False)
    if level:
        monkeypatch.setenv("ALLENNLP_LOG_LEVEL", level)
    handler = logging.StreamHandler(sys.stderr)
    console.quieten([handler])
    for name, severity in [("allennlp.x", "INFO"), ("allennlp.x", "WARNING"), ("tagger.x", "INFO")]:
        number, text = getattr(logging, severity), f"{severity} of {name}"
        handler.handle(logging.LogRecord(name, number, "", 0, text, None, None))
    shown = capsys.readouterr().err
    assert ("INFO of allennlp.x" in shown) == is_shown
    assert "WARNING of allennlp.x" in shown
    assert "INFO of tagger.x" in shown


def test_the_console_shows_a_line_of_information_once_for_each_command(monkeypatch, capsys):
    monkeypatch.delenv("ALLENNLP_LOG_LEVEL", raising=False)
    handlers = [logging.StreamHandler(stream) for stream in (sys.stdout, sys.stderr)]
    console.quieten(handlers)
    for _ in range(2):
        with console.command_running():
            for text in ("dev.txt: text UTF-8", "dev.txt: text UTF-8", "test.txt: text UTF-8"):
                record = logging.LogRecord("tagger.x", logging.INFO, "", 0, text, None, None)
                for handler in handlers:
                    handler.handle(record)
        shown = capsys.readouterr()
        assert shown.out == shown.err == "dev.txt: text UTF-8\ntest.txt: text UTF-8\n"


def test_progress_bars_appear_only_on_terminals_and_name_the_epoch(monkeypatch, capsys, caplog):
    monkeypatch.setattr(console, "_activity", "epoch 2 of 5, training")
    # An earlier training may have left its log handler there.
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


def test_settings_chosen_by_the_user_cause_no_warning(
    archive, monkeypatch, capsys, caplog, tmp_path
):
    monkeypatch.delenv("ALLENNLP_LOG_LEVEL", raising=False)
    handler = logging.StreamHandler(sys.stderr)
    console.quieten([handler])
    name = "allennlp.training.gradient_descent_trainer"
    logger = logging.getLogger(name)
    logger.addHandler(handler)
    loader = SimpleNamespace(set_target_device=lambda device: None)
    data = {"data_loader": loader, "validation_data_loader": loader}
    try:
        params = Params({"type": "gradient_descent", "num_epochs": 1})
        Trainer.from_params(params, model=archive.model, serialization_dir=str(tmp_path), **data)
    finally:
        logger.removeHandler(handler)
    assert "patience was set to None" in caplog.text
    assert "patience" not in capsys.readouterr().err


def test_a_loss_not_split_by_instance_causes_no_warning(archive, caplog):
    reader = archive.validation_dataset_reader
    instances = list(reader.read(TEST))[:2]
    for instance in instances:
        reader.apply_token_indexers(instance)
    assert len(archive.model.forward_on_instances(instances)) == 2
    assert "loss key" not in caplog.text


@pytest.mark.parametrize(
    ("raised", "status"), [(KeyboardInterrupt, 130), (SigTermReceived, 143)], ids=["INT", "TERM"]
)
def test_an_interrupt_is_one_line(raised, status, monkeypatch, run_here, tmp_path):
    def interrupted(*args):
        raise raised

    monkeypatch.setattr("tagger.commands.train._train_unless_finished", interrupted)
    outcome = run_here(["train", "x.jsonnet", "-s", "run"], tmp_path)
    said = "allennlp: interrupted; to go on, repeat the command with --recover"
    assert (outcome.status, outcome.errors) == (status, [said, ""])
