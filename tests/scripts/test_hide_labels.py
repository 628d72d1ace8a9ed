import pytest

from scripts import hide_labels
from tests.conftest import ROOT

TOY = ROOT / "data/toy/train.txt"


def tags(path):
    return [line.split("\t")[1] for line in path.read_text().splitlines() if line]


def hidden(tmp_path, *arguments):
    target = tmp_path / "out.txt"
    target.unlink(missing_ok=True)
    hide_labels.main([str(TOY), str(target), *arguments])
    return tags(target)


def test_spans_of_every_label_become_one_class(tmp_path):
    original = [line.split()[-1] for line in TOY.read_text().splitlines() if line.strip()]
    assert hidden(tmp_path) == ["O" if tag == "O" else "ENTITY" for tag in original]


def test_the_share_is_hidden_of_both_classes_and_the_same_whatever_the_mark(tmp_path):
    full = hidden(tmp_path)
    unknown = hidden(tmp_path, "--share", "0.3")
    negative = hidden(tmp_path, "--share", "0.3", "--hide-as", "O")
    for tag in ("O", "ENTITY"):
        of_tag = [new for old, new in zip(full, unknown) if old == tag]
        assert of_tag.count("?") / len(of_tag) == pytest.approx(0.3, abs=0.1)
    assert negative == ["O" if tag == "?" else tag for tag in unknown]
    assert unknown != hidden(tmp_path, "--share", "0.3", "--seed", "1")


def test_nothing_is_overwritten(tmp_path):
    target = tmp_path / "out.txt"
    target.write_text("mine")
    with pytest.raises(SystemExit, match="is there already"):
        hide_labels.main([str(TOY), str(target)])
    assert target.read_text() == "mine"
