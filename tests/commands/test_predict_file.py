import errno
import json
import os
import socket
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import SigTermReceived
from allennlp.models import load_archive
from allennlp.predictors import Predictor

from tagger.commands.predict_file import predict_file
from tagger.commands.resumable_output import ResumableOutput
from tests.conftest import ROOT
from tests.system.archives import write_archive
from tests.system.interrupts import (
    with_swapped_labels,
    without_checksums_and_with_swapped_labels,
)

TEST = str(ROOT / "data/toy/test.txt")


@pytest.fixture
def predictor(archive):
    return Predictor.from_archive(archive)


@pytest.fixture
def texts(tmp_path):
    """A file of thirty inputs with blank lines in between."""
    path = tmp_path / "texts.txt"
    lines = [" ".join(["Ada"] * (1 + n % 7)) + f" met {n}" for n in range(30)]
    lines[3], lines[17] = "", "  "
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def lines_of(output):
    return [json.loads(line) for line in output.read_text().splitlines()]


def test_an_input_is_never_lost_whatever_its_name(predictor, texts, tmp_path):
    names = ("out.jsonl.unfinished", ".out.jsonl.unfinished", "out.jsonl.tmp", "out.jsonl.lock")
    content = Path(texts).read_text()
    for name in names:
        (tmp_path / name).write_text(content)
        predict_file(predictor, str(tmp_path / name), tmp_path / "out.jsonl", overwrite=True)
        assert (tmp_path / name).read_text() == content
        assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 30


def test_two_runs_on_one_output_are_kept_apart(
    predictor, texts, tmp_path, monkeypatch, in_forked_process
):
    output = tmp_path / "out.jsonl"
    predict, messages = predictor.predict_batch_json, []

    def run_again():
        try:
            predict_file(predictor, texts, output, window=8)
        except ConfigurationError as error:
            return str(error)

    def predict_and_run_again(inputs):
        messages.append(in_forked_process(run_again))
        return predict(inputs)

    monkeypatch.setattr(predictor, "predict_batch_json", predict_and_run_again)
    predict_file(predictor, texts, output, window=16)
    said = f"is being written by process {os.getpid()} on {socket.gethostname()} since 2"
    assert all(said in each for each in messages)
    assert "wait for it, or give another name" in messages[0]
    assert len(output.read_text().splitlines()) == 30


@pytest.fixture
def sizes(predictor, monkeypatch):
    """The number of inputs that the predictor was given, per window."""
    sizes, predict = [], predictor.predict_batch_json
    monkeypatch.setattr(
        predictor, "predict_batch_json", lambda inputs: sizes.append(len(inputs)) or predict(inputs)
    )
    return sizes


def test_finished_windows_are_not_predicted_again(
    predictor, texts, tmp_path, killed_in_window, sizes, capsys
):
    killed_in_window(4, texts, tmp_path / "out.jsonl", window=8)
    del sizes[:]
    predict_file(predictor, texts, tmp_path / "out.jsonl", window=8)
    assert sizes == [6]
    assert "Kept 24 predictions; made 6 in" in capsys.readouterr().out


@pytest.fixture
def run(trained, allennlp, tmp_path):
    """Runs the subcommand and returns the output path."""

    def run(*arguments, archive=trained / "model.tar.gz"):
        output = tmp_path / "predictions.jsonl"
        option = [] if "-o" in arguments else ["-o", output]
        allennlp("predict-file", archive, *arguments, *option)
        return output

    return run


def test_lines_that_look_like_json_can_be_read_as_text(run, tmp_path):
    texts = tmp_path / "texts.txt"
    texts.write_text('\ufeff[1]\n\ufeff\n"Ada"\n', encoding="utf-8")
    with pytest.raises(SystemExit, match="`line` is a JSON list"):
        run(str(texts))
    written = lines_of(run(str(texts), "--plain"))
    assert [each["text"] for each in written] == ["\ufeff[1]", "\ufeff", '"Ada"']


def test_leaks_and_candidates_are_added_on_demand(run, archive, tmp_path):
    texts = tmp_path / "texts.txt"
    texts.write_text("Maria met Paulo in Lisbon .\n\n")
    written = lines_of(run(str(texts), "--leaks", "PER,LOC", "--candidates", "0.05"))
    asked = {"leak_labels": ["PER", "LOC"], "candidates": 0.05}
    predictor = Predictor.from_archive(archive, extra_args=asked)
    assert written[0] == predictor.predict("Maria met Paulo in Lisbon .")
    assert written[0]["candidates"]
    assert 0 < written[0]["leak_probability"] < 1
    assert (written[1]["leak_probability"], written[1]["candidates"]) == (0, [])


@pytest.mark.slow
def test_files_of_the_dataset_reader_give_the_output_of_predict(run, archive, capsys):
    output = run(TEST, "--use-dataset-reader", "--window", "5")
    instances = list(archive.validation_dataset_reader.read(TEST))
    expected = Predictor.from_archive(archive).predict_batch_instance(instances)
    written = lines_of(output)
    assert [each["tags"] for each in written] == [each["tags"] for each in expected]
    with pytest.raises(SystemExit, match="already exists.*--force"):
        run(TEST, "--use-dataset-reader")


BAD_LINES = {
    3: (b'{"sentence": "no end', "starts with a brace but is no JSON object"),
    8: (b'{"text": "no sentence"}', "must have exactly one of `sentence`, `tokens`"),
    17: (b"caf\xe9", "expected UTF-8, got byte 0xe9 at position 3; convert the file, if"),
    18: (b"[1]", "is a JSON list"),
    29: (b'{"sentence": "\\ud800"}', "half of a surrogate pair, which is not a character"),
}


@pytest.fixture
def lines_with_errors(tmp_path):
    """A file of thirty lines, five of them malformed and one blank, and the expected errors."""
    lines = [b"Ada met %d" % number for number in range(1, 31)]
    for number, (line, _) in BAD_LINES.items():
        lines[number - 1] = line
    lines[9] = b""
    path = tmp_path / "lines.txt"
    path.write_bytes(b"\n".join(lines))
    return path


def test_a_bad_line_is_named_and_the_run_resumes_once_it_is_fixed(
    predictor, lines_with_errors, tmp_path, capsys
):
    output = tmp_path / "out.jsonl"
    for number, (line, reason) in BAD_LINES.items():
        with pytest.raises(ConfigurationError) as error:
            predict_file(predictor, str(lines_with_errors), output, window=4)
        assert f"lines.txt:{number}: " in str(error.value)
        assert reason in str(error.value)
        assert "correct the line, or add --on-error skip" in str(error.value)
        content = lines_with_errors.read_bytes().replace(line, b"Now it is right", 1)
        lines_with_errors.write_bytes(content)
    predict_file(predictor, str(lines_with_errors), output, window=4)
    assert len(output.read_text().splitlines()) == 30
    assert "Kept 28 predictions; made 2" in capsys.readouterr().out


def test_bad_lines_are_skipped_on_demand(predictor, lines_with_errors, tmp_path, capsys):
    output = tmp_path / "out.jsonl"
    predict_file(predictor, str(lines_with_errors), output, window=4, on_error="skip")
    written = lines_of(output)
    assert len(written) == 30
    errors = [each for each in written if "error" in each]
    assert [each["line"] for each in errors] == list(BAD_LINES)
    for each in errors:
        assert each.keys() == {"error", "line"}
        assert BAD_LINES[each["line"]][1] in each["error"]
    assert [each["text"] for each in written if "text" in each] == [
        "" if number == 10 else f"Ada met {number}"
        for number in range(1, 31)
        if number not in BAD_LINES
    ]
    assert 'Skipped 5 lines, which have an "error"' in capsys.readouterr().out


def test_a_resumed_run_skips_the_same_bad_lines(
    predictor, lines_with_errors, tmp_path, killed_in_window, capsys
):
    output = tmp_path / "out.jsonl"
    arguments = (str(lines_with_errors), output, 4)
    killed_in_window(6, *arguments, on_error="skip")
    with pytest.raises(ConfigurationError, match="begun by a run that skipped 2 lines"):
        predict_file(predictor, *arguments)
    predict_file(predictor, *arguments, on_error="skip")
    assert "Kept 16 predictions" in (printed := capsys.readouterr().out)
    assert "Skipped 5 lines" in printed
    output.unlink()
    killed_in_window(6, *arguments, on_error="skip")
    with pytest.raises(ConfigurationError, match="lines.txt:3: "):
        predict_file(predictor, *arguments, overwrite=True)


def test_an_error_not_caused_by_a_line_names_no_line(predictor, texts, tmp_path, monkeypatch):
    failing = Mock(side_effect=ValueError("out of memory"))
    monkeypatch.setattr(predictor, "predict_batch_json", failing)
    with pytest.raises(ValueError, match="out of memory"):
        predict_file(predictor, texts, tmp_path / "out.jsonl", on_error="skip")


@pytest.mark.slow
@pytest.mark.parametrize("content", [b"", b"no archive", None])
def test_a_broken_archive_is_a_one_line_error(content, run, trained, tmp_path, monkeypatch):
    path = tmp_path / "broken.tar.gz"
    whole = (trained / "model.tar.gz").read_bytes()
    path.write_bytes(whole[: len(whole) // 2] if content is None else content)
    with pytest.raises(SystemExit, match="^predict-file: .*broken.tar.gz") as error:
        run(TEST, archive=path)
    assert "\n" not in str(error.value)


def test_a_full_disk_is_a_one_line_error_and_nothing_is_lost(
    run, texts, tmp_path, monkeypatch, capsys
):
    write = ResumableOutput.write

    def write_until_full(self, *window):
        if self.num_lines >= 16:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(self, *window)

    monkeypatch.setattr(ResumableOutput, "write", write_until_full)
    with pytest.raises(SystemExit, match="^predict-file: .*No space left on device"):
        run(texts, "--window", "8")
    monkeypatch.undo()
    run(texts, "--window", "8")
    assert "Kept 16 predictions" in capsys.readouterr().out


@pytest.mark.parametrize("changed", [2, 20])
def test_windows_are_kept_while_their_inputs_are_unchanged(
    predictor, texts, tmp_path, killed_in_window, capsys, changed
):
    output = tmp_path / "out.jsonl"
    killed_in_window(3, texts, output, window=8)
    lines = Path(texts).read_text().splitlines()
    lines[changed] = "This line is new"
    Path(texts).write_text("\n".join(lines))
    if changed < 16:
        message = "differs from the input of the unfinished run .* in the first 8 inputs"
        with pytest.raises(ConfigurationError, match=message):
            predict_file(predictor, texts, output, window=8)
    predict_file(predictor, texts, output, window=8, overwrite=True)
    kept = "Made 30 predictions in" if changed < 16 else "Kept 16 predictions; made 14 in"
    assert kept in capsys.readouterr().out
    assert [each["text"] for each in lines_of(output)] == lines


@pytest.mark.parametrize(
    ("window", "options", "message"),
    [
        (9, {}, "another `window`; .* its 8 predictions"),
        (8, {"use_dataset_reader": True, "settings": {"x": 1}}, "another `use-dataset-reader`, `x`"),
        (8, {}, "another `model`"),
    ],
)  # fmt: skip
def test_a_run_with_other_settings_does_not_resume_an_output(
    window, options, message, predictor, texts, tmp_path, killed_in_window, archive
):
    output = tmp_path / "out.jsonl"
    killed_in_window(2, texts, output, window=8)
    if "model" in message:
        with torch.no_grad():
            archive.model.projection.bias += 1
    with pytest.raises(ConfigurationError, match=message):
        predict_file(predictor, texts, output, window, **options)
    predict_file(predictor, texts, output, window=8, overwrite=True)
    assert len(output.read_text().splitlines()) == 30


@pytest.mark.parametrize("has_checksums", [True, False])
def test_an_archive_with_other_labels_does_not_resume_an_output(
    texts, trained, tmp_path, killed_in_window, has_checksums
):
    output, other = tmp_path / "out.jsonl", tmp_path / "other.tar.gz"
    killed_in_window(3, texts, output, window=8)
    change = with_swapped_labels if has_checksums else without_checksums_and_with_swapped_labels
    write_archive(
        trained / "model.tar.gz", other, contents=change, with_new_checksums=has_checksums
    )
    predictor = Predictor.from_archive(load_archive(other))
    with pytest.raises(ConfigurationError, match="another `archive`; .* its 16 predictions"):
        predict_file(predictor, texts, output, window=8)
    predict_file(predictor, texts, output, window=8, overwrite=True)
    predict_file(predictor, texts, tmp_path / "unbroken.jsonl", window=8)
    assert output.read_bytes() == (tmp_path / "unbroken.jsonl").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.txt"], "none.txt"),
        ([TEST, "--window", "0"], "`--window` must be a whole number of at least 1; got 0"),
        (
            [TEST, "--use-dataset-reader", "--on-error", "skip"],
            "`--on-error skip` needs input lines; it does not work with --use-dataset-reader",
        ),
        ([TEST, "--leaks", "PER,PRE"], "`leak_labels` names `PRE`, .* did you mean `PER`"),
        ([TEST, "--candidates", "0"], "`candidates` must be a probability above 0"),
        (["/dev/null"], "/dev/null: expected a file, got a pipe or a device"),
        ([TEST, "-o", "none/out.jsonl"], "the folder .*/none does not exist; make it first"),
        ([TEST, "-o", "."], "`--output` . is a folder; name a file"),
        ([TEST, "-o", TEST, "--force"], "test.txt is also an input; give another name"),
        (
            [TEST, "--predictor-args", '{"batch_token": 1}'],
            r"names `batch_token`, .* SequenceTaggerPredictor \(.*did you mean `batch_tokens`",
        ),
        ([TEST, "--predictor-args", "[1]"], r"must be a JSON object .* got \[1\]"),
        ([TEST, "--predictor-args", "{'a': 1}"], "must be a JSON object .* got {'a': 1}"),
    ],
)
def test_unusable_arguments_are_a_one_line_error(run, arguments, message):
    with pytest.raises(SystemExit, match=f"^predict-file: .*{message}") as error:
        run(*arguments)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("method", ["load_line", "predict_batch_json", "check"])
def test_a_termination_is_not_reported_as_a_bad_line(
    method, predictor, texts, tmp_path, monkeypatch
):
    if method == "check":
        failing = Mock(side_effect=ValueError)
        monkeypatch.setattr(predictor, "predict_batch_json", failing)
    monkeypatch.setattr(predictor, method, Mock(side_effect=SigTermReceived))
    with pytest.raises(SigTermReceived):
        predict_file(predictor, texts, tmp_path / "out.jsonl", on_error="skip")
    assert not (tmp_path / "out.jsonl").exists()


def test_the_speed_is_reported_once(run, texts, caplog, capsys):
    with caplog.at_level("INFO"):
        run(texts)
    assert "Made 30 predictions in" in capsys.readouterr().out
    assert not any(message.startswith("predicted ") for message in caplog.messages)
