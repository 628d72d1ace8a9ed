"""The command `agreement`: what it prints, writes and refuses."""

import json

import pytest

from tagger.data.sources.joining import join_sources

ANNA = "Ada B-PER\nleft O\nRome B-LOC\n\nBo B-PER\n"
BOB = "Ada B-PER\nleft O\nRome B-ORG\n\nBo O\n"


@pytest.fixture
def agreement(allennlp, tmp_path, capsys):
    def run(*arguments):
        allennlp("agreement", *arguments, "-o", tmp_path / "out")
        return capsys.readouterr().out

    (tmp_path / "anna.conll").write_text(ANNA)
    (tmp_path / "bob.txt").write_text(BOB)
    return run


def test_the_numbers_are_printed_and_written(agreement, tmp_path):
    said = agreement(f"<b>={tmp_path / 'anna.conll'}", tmp_path / "bob.txt")
    assert "2 texts: <b> 2, bob 2; 2 have been read by several." in said
    # Of anna's three entities and bob's two, one is the same.
    row = next(line.split() for line in said.splitlines() if line.startswith("all labels"))
    assert row[2:5] == ["2", "5", "0.400"]
    record = json.loads((tmp_path / "out" / "agreement.json").read_text())
    assert {each["label"]: each["f1"]["value"] for each in record["all"]} == {
        "all labels": 0.4,
        **{"LOC": 0.0, "ORG": 0.0},
        "PER": pytest.approx(2 / 3),
    }
    places = (tmp_path / "out" / "disagreements.jsonl").read_text().splitlines()
    assert [json.loads(line)["kind"] for line in places] == ["label", "missing"]
    page = (tmp_path / "out" / "agreement.html").read_text()
    assert "&lt;b&gt;" in page
    assert "<b> 2" not in page


def test_all_annotations_are_in_one_file_which_gives_the_same_numbers(agreement, tmp_path):
    said = agreement(tmp_path / "anna.conll", tmp_path / "bob.txt")
    written = tmp_path / "all.jsonl"
    (tmp_path / "out" / "annotations.jsonl").rename(written)
    assert [sorted(each.annotations) for each in join_sources([str(written)])] == [
        ["anna", "bob"]
    ] * 2
    assert agreement(written) == said


def test_sources_that_agree_have_no_place_to_show(agreement, tmp_path):
    (tmp_path / "bob.txt").write_text(ANNA)
    assert "0 places" in agreement(tmp_path / "anna.conll", tmp_path / "bob.txt")
    assert "They disagree nowhere" in (tmp_path / "out" / "agreement.html").read_text()


def test_labels_that_a_source_was_not_asked_for_are_told(agreement, tmp_path):
    arguments = tmp_path / "anna.conll", tmp_path / "bob.txt", "--labels", "bob=PER"
    lines = agreement(*arguments).splitlines()
    assert [line.split()[0] for line in lines[3:5]] == ["all", "PER"]
    (tmp_path / "anna.conll").write_text(ANNA * 10)
    (tmp_path / "bob.txt").write_text("Ada O\nleft O\nRome B-LOC\n\nBo O\n" * 10)
    said = agreement(tmp_path / "anna.conll", tmp_path / "bob.txt")
    assert "bob gives PER nowhere, so it is not compared about that; if it was asked" in said
    assert "`--labels bob=LOC,PER`" in said


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["anna.conll", "none.txt"], "none.txt: there is no such file; name files as"),
        (["anna.conll"], "no text has the annotations of two sources"),
        (["anna.conll", "bob.txt", "--labels", "bbo=PER"], "did you mean `?bob"),
        (["anna.conll", "bob.txt", "--labels", "bob"], "expected a source and its labels"),
        (["anna.conll", "bob.txt", "--labels", "bob=PRE"], "'PRE' is no label.*did you mean .PER"),
        (["anna.conll", "bob.txt", "--from", "cvs"], "there is no format 'cvs'"),
        (["anna.conll", "bob.txt", "--tag-columns", "7"], "is 7, but there are the columns 0 to 1"),
    ],
)
def test_what_cannot_be_compared_is_an_error(arguments, error, agreement, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match=error):
        agreement(*arguments)
    assert not (tmp_path / "out" / "agreement.html").exists()


@pytest.mark.usefixtures("at_root")
def test_the_report_on_a_tagger_says_how_far_annotators_agree(
    agreement, allennlp, trained, tmp_path
):
    command = ("report", trained, "-o", tmp_path / "report.html", "--agreement", tmp_path / "out")
    with pytest.raises(SystemExit, match=r"agreement\.json"):
        allennlp(*command)
    agreement(tmp_path / "anna.conll", tmp_path / "bob.txt")
    allennlp(*command)
    page = (tmp_path / "report.html").read_text()
    assert "agree with one another with an F1 of 40.0 %" in page
    assert '<td data-v="0.6667">66.7</td>' in page
