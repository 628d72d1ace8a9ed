"""The inputs of `predict` and `predict-file`, and their errors for unreadable ones."""

import io
import json
import subprocess
import sys

import pytest

from tagger.common.from_allennlp import ConfigurationError
from tagger.common.inputs import numbered_lines
from tests.conftest import ROOT

LINES = [
    "\ufeffMaria left Lisbon.",
    "",
    " \t",
    "\ufeff",
    " Ada  left. ",
    '{"tokens": []}',
    '{"sentence": " "}',
]


@pytest.fixture
def predict(allennlp, trained, tmp_path):
    """Predicts a file with one of the two commands and returns its output."""

    def predict(command, path, *arguments):
        output = tmp_path / f"{command}.jsonl"
        option = "--output-file" if command == "predict" else "-o"
        silent = ["--silent"] if command == "predict" else []
        allennlp(command, trained / "model.tar.gz", path, option, output, *silent, *arguments)
        return [json.loads(line) for line in output.read_text().splitlines()]

    return predict


@pytest.mark.slow
def test_each_line_is_answered_by_one_line(predict, tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(LINES) + "\n")
    written = predict("predict-file", path)
    assert [each["text"] for each in written] == [*LINES[:5], "", " "]
    assert [len(each["tags"]) for each in written] == [4, 0, 0, 0, 3, 0, 0]
    for each in written:
        for entity in each["entities"]:
            assert each["text"][entity["start"] : entity["end"]] == entity["text"]
    assert predict("predict", path, "--batch-size", "3") == written


TABLES = {
    "comma.csv": 'id,text\n7,Maria left Lisbon.\n8,"Ada, who met\nPaulo"\n9,\n',
    "semicolon.csv": '\ufefftext;label\nMaria left Lisbon.;a\n"Ada, who met\nPaulo";b\n;c\n',
    "tab.tsv": 'n\ttext\n1\tMaria left Lisbon.\n\n2\t"Ada, who met\nPaulo"\n3\t\n',
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_the_texts_of_a_table_are_those_of_its_column(name, predict, tmp_path, capsys):
    (tmp_path / name).write_text(TABLES[name], encoding="utf-8")
    texts = ["Maria left Lisbon.", "Ada, who met\nPaulo", ""]
    assert [each["text"] for each in predict("predict-file", tmp_path / name)] == texts
    with pytest.raises(SystemExit):
        predict("predict", tmp_path / name)
    assert "not an input on each line; use `allennlp predict-file`" in capsys.readouterr().err


@pytest.mark.slow
def test_a_table_needs_the_column_and_equally_long_rows(predict, tmp_path):
    path = tmp_path / "texts.csv"
    path.write_text("comment,id\nMaria left.,1\n")
    with pytest.raises(
        SystemExit, match=r"text is no column of .*texts.csv \(comment, id\); name that"
    ):
        predict("predict-file", path)
    (found,) = predict("predict-file", path, "--text-column", "comment", "--force")
    assert found["text"] == "Maria left."
    found = predict("predict-file", path, "--plain", "--force")
    assert [each["text"] for each in found] == ["comment,id", "Maria left.,1"]
    for name, option in (("comment", ["--text-column", "comment"]), ("text", [])):
        path.write_text(f"{name},id\nMaria left.,1\nAda\n")
        with pytest.raises(SystemExit, match=r"texts.csv(:3|, row 2): expected 2 columns"):
            predict("predict-file", path, *option, "--force")


@pytest.mark.slow
def test_objects_with_a_text_and_other_keys_are_texts(predict, tmp_path):
    texts = ["Maria left Lisbon.", "Ada met Paulo."]
    path = tmp_path / "texts.jsonl"
    for key in ("text", "content", "sentence"):
        path.write_text("".join(json.dumps({"id": 7, key: text}) + "\n" for text in texts))
        found = predict("predict-file", path, "--force")
        assert [each["text"] for each in found] == texts
    written = predict("predict-file", path, "--format", "doccano", "--force")
    assert [(each["id"], each["text"]) for each in written] == [(7, text) for text in texts]


@pytest.mark.slow
def test_the_output_is_utf_8_lines_and_nothing_else(
    predict, allennlp, trained, tmp_path, monkeypatch
):
    texts = ["\u00c9lodie left \U0001f600.", "Ada\u2028met\u0085Paulo\u2029.", ""]
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(texts) + "\n", encoding="utf-8")
    pipe = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    with monkeypatch.context() as piped:
        piped.setattr(sys, "stdout", pipe)
        allennlp("predict", trained / "model.tar.gz", path)
        pipe.flush()
    printed = pipe.buffer.getvalue()
    assert "\u00c9lodie left \U0001f600.".encode() in printed
    assert [json.loads(line)["text"] for line in printed.decode().splitlines()] == texts
    for command in ("predict", "predict-file"):
        predict(command, path)
        assert (tmp_path / f"{command}.jsonl").read_bytes() == printed


@pytest.mark.slow
@pytest.mark.usefixtures("warm_python")
def test_an_error_is_the_last_line(trained, tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("Maria Lindqvist met Paulo Ferraz in Lisbon.\n" * 300 + "[1]\n")
    # Report the speed even of very short runs.
    code = (
        "from tagger.predictors.batched_predictor import Throughput\n"
        "Throughput.__init__.__defaults__ = (30.0, 0.0)\n"
        "import runpy; runpy.run_module('allennlp', run_name='__main__')"
    )
    command = ["predict", trained / "model.tar.gz", path, "--silent", "--batch-size", "100"]
    done = subprocess.run(
        [sys.executable, "-c", code, *command, "--output-file", tmp_path / "out.jsonl"],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(f"allennlp: {path}:301: `line` is a JSON list")
    assert not list(tmp_path.glob("*out.jsonl*"))


def test_standard_input_may_be_closed(monkeypatch):
    closed = io.StringIO()
    closed.close()
    for stdin in (None, closed):
        monkeypatch.setattr(sys, "stdin", stdin)
        with pytest.raises(ConfigurationError, match="standard input is closed; pipe the texts"):
            list(numbered_lines("-"))


def test_a_folder_is_refused_as_input(tmp_path):
    with pytest.raises(IsADirectoryError, match="expected a file, got a folder; name a file"):
        list(numbered_lines(str(tmp_path)))


@pytest.mark.parametrize(
    ("command", "line", "arguments", "message"),
    [
        ("predict-file", "Ada left.", ["--predictor-args", '{"language": "xx1"}'],
         "`language` must be the code .*got 'xx1'"),
        ("soft-labels", "Ada left.", ["--format", "text", "--language", "xx1"],
         "`language` must be the code .*got 'xx1'"),
        ("soft-labels", ")" * 501, ["--format", "text"],
         "`.*texts.txt:2` has 501 characters in a row"),
    ],
)  # fmt: skip
def test_unknown_languages_and_too_long_lines_are_one_line_errors(
    command, line, arguments, message, allennlp, trained, tmp_path
):
    path = tmp_path / "texts.txt"
    path.write_text(f"Ada left.\n{line}\n")
    with pytest.raises(SystemExit, match=f"^{command}: {message}"):
        allennlp(command, trained / "model.tar.gz", path, "-o", tmp_path / "out.npz", *arguments)
