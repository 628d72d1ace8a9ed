import pytest

from scripts import miss_entities
from tagger.spans import tags_to_spans
from tests.conftest import ROOT

TOY = ROOT / "data/toy/train.txt"


def spans(path):
    return [
        tags_to_spans([line.split()[-1] for line in block.splitlines()], "BIO")
        for block in path.read_text().strip().split("\n\n")
    ]


def missed(tmp_path, name, *arguments):
    miss_entities.main([str(TOY), str(tmp_path / name), *arguments])
    return spans(tmp_path / name)


def test_whole_entities_are_missed_and_the_others_stay(tmp_path):
    before, after = spans(TOY), missed(tmp_path, "a", "--share", "0.5")
    assert len(before) == len(after)
    assert all({*less} <= {*more} for less, more in zip(after, before))
    num_before, num_after = (sum(map(len, each)) for each in (before, after))
    assert num_after / num_before == pytest.approx(0.5, abs=0.15)


def test_the_same_seed_misses_the_same_entities(tmp_path):
    first, again, other = (
        missed(tmp_path, str(i), "--seed", seed) for i, seed in enumerate(["1", "1", "2"])
    )
    assert first == again != other


def test_words_stay_as_they_are(tmp_path):
    missed(tmp_path, "a", "--share", "1")
    words = [line.split()[0] for line in TOY.read_text().splitlines() if line.strip()]
    lines = [line.split("\t") for line in (tmp_path / "a").read_text().splitlines() if line]
    assert lines == [[word, "O"] for word in words]


def test_what_cannot_be_done_is_said(tmp_path):
    with pytest.raises(SystemExit, match=r"--share must lie in \[0, 1\]; got 2"):
        missed(tmp_path, "a", "--share", "2")
    (tmp_path / "a").write_text("mine")
    with pytest.raises(SystemExit, match="is there already"):
        missed(tmp_path, "a")
