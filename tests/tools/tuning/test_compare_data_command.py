"""`compare-data`, on the toy corpus."""

import json

import pytest

from tagger.tools.tuning import estimates
from tests.conftest import ROOT

DEV, TRAIN = ROOT / "data/toy/dev.txt", ROOT / "data/toy/train.txt"


@pytest.fixture
def run(allennlp, trained, capsys, monkeypatch):
    """Runs the subcommand on the toy archive; returns its exit status and what it prints."""
    # `test_new_data.py` checks the intervals.
    monkeypatch.setattr(estimates, "NUM_RESAMPLES", 2)

    def run(*arguments):
        status = 0
        try:
            allennlp("compare-data", trained / "model.tar.gz", *arguments)
        except SystemExit as error:
            status = error.code
        return status, capsys.readouterr().out

    return run


def other_texts():
    """Texts of long strange words, of which none is like those of the corpus."""
    return [f"{'XQ' * 9} {'Zw' * 8} ## {'9' * 12} {'Xq' * 7} ." for _ in range(30)]


@pytest.mark.slow
def test_texts_of_the_same_kind_pass_and_of_another_do_not(run, tmp_path):
    output = tmp_path / "same.json"
    # Tags of new texts are not read, so they may be any.
    unlabelled = tmp_path / "new.txt"
    unlabelled.write_text(DEV.read_text().replace("B-", "?-").replace("I-", "?-"))
    status, printed = run(DEV, unlabelled, "-o", output)
    assert status == 0
    assert "No difference in kind was found (p = " in printed
    result = json.loads(output.read_text())
    assert not result["is_different"]
    assert 0.05 < result["p_value"] <= 1
    own, *_, true = result["estimates"].values()
    assert list(own) == ["EVENT", "LOC", "ORG", "PER", "overall"]
    value, low, high = own["PER"]["precision"]
    assert 0.5 < low <= value <= high <= 1
    assert true["PER"]["recall"][0] == 1
    lines = tmp_path / "other.txt"
    lines.write_text("".join(f"{each}\n" for each in other_texts()))
    status, printed = run(DEV, lines, "--format", "text")
    assert status == 3
    assert "They are of different kinds (p = 0.0001). What differs most:" in printed
    assert "  characters a word  " in printed
    assert f"Estimated for {lines}, as corrected by {DEV}" in printed


@pytest.mark.slow
def test_documents_are_compared_with_documents_if_both_tell_them(run, tmp_path):
    sentences = TRAIN.read_text().strip().split("\n\n")
    documents, lines = tmp_path / "documents.txt", tmp_path / "lines.jsonl"
    pairs = ["\n\n".join(sentences[i : i + 2]) for i in range(0, len(sentences), 2)]
    documents.write_text("\n\n".join(f"-DOCSTART- O\n\n{pair}" for pair in pairs))
    texts = [
        [[line.split()[0] for line in each.splitlines()] for each in pair.split("\n\n")]
        for pair in pairs
    ]
    lines.write_text("".join(json.dumps({"sentences": each}) + "\n" for each in texts))
    for new, arguments in ((lines, ["--format", "text"]), (documents, [])):
        status, printed = run(documents, new, *arguments)
        assert status == 0
        assert f"{new}: {len(sentences)} sentences, " in printed
        assert "Compared by document.\n" in printed
        assert "(p = 1.0000)" in printed
    _, printed = run(documents, DEV)
    assert "Compared by run of 2 sentences.\n" in printed
    _, printed = run(documents, DEV, "--run", "1")
    assert "Compared by sentence, which makes false alarms frequent if" in printed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([DEV, DEV, "--level", "5"], "`--level` must be above 0 and below 1; got 5"),
        ([DEV, DEV, "--run", "0"], "`--run` must be a whole number of at least 1; got 0"),
        ([DEV, "lines.txt"], "lines.txt:2: expected 2 columns as on line 1"),
        ([DEV, "lines.txt"], "; if each line is a text, add `--format text`"),
        ([DEV, "lines.txt", "--format", "text"], "lines.txt:3: `line` starts with a brace"),
        ([DEV, "empty.txt", "--format", "text"], "empty.txt holds no word"),
        ([DEV, "none.txt", "--format", "text"], "none.txt"),
    ],
)
def test_what_cannot_be_compared_is_refused(arguments, message, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lines.txt").write_text("Ada left\nShe came back\n{ no\n")
    (tmp_path / "empty.txt").write_text("\n\n")
    status, _ = run(*arguments)
    assert message in str(status)
