import pytest

from scripts import thin_label
from tests.conftest import ROOT

TOY = ROOT / "data/toy/train.txt"


def sentences(path):
    return path.read_text().rstrip("\n").split("\n\n")


def thinned(tmp_path, name, *arguments):
    thin_label.main([str(TOY), str(tmp_path / name), *arguments])
    return sentences(tmp_path / name)


def test_a_share_of_the_labels_sentences_is_kept_and_all_others(tmp_path):
    before, after = sentences(TOY), thinned(tmp_path, "a", "PER", "--share", "0.2")
    holding = [sentence for sentence in before if "-PER" in sentence]
    kept = [sentence for sentence in after if "-PER" in sentence]
    # Rounded up.
    assert len(kept) == -(-len(holding) // 5)
    assert [each for each in after if each not in kept] == [
        each for each in before if each not in holding
    ]
    assert after == [each for each in before if each in {*after}]


def test_the_same_seed_draws_the_same_sentences(tmp_path):
    first, again, other = (
        thinned(tmp_path, str(i), "PER", "--share", "0.2", "--seed", seed)
        for i, seed in enumerate(["1", "1", "2"])
    )
    assert first == again != other


def test_lines_of_documents_stay(tmp_path):
    file = tmp_path / "in.txt"
    file.write_text("-DOCSTART- -X- O\n\nAnn X I-PER\n\n-DOCSTART- -X- O\n\nhere X O\n")
    thin_label.main([str(file), str(tmp_path / "out"), "PER", "--share", "0"])
    assert (tmp_path / "out").read_text() == (
        "-DOCSTART- -X- O\n\n-DOCSTART- -X- O\n\nhere X O\n\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["PERS"], "no sentence with the label PERS"),
        (["PER", "--share", "2"], r"--share must lie in \[0, 1\]; got 2"),
    ],
)
def test_what_cannot_be_done_is_said(arguments, message, tmp_path):
    with pytest.raises(SystemExit, match=message):
        thin_label.main([str(TOY), str(tmp_path / "out"), *arguments])
    assert not (tmp_path / "out").exists()


def test_nothing_is_overwritten(tmp_path):
    (tmp_path / "out").write_text("mine")
    with pytest.raises(SystemExit, match="is there already"):
        thin_label.main([str(TOY), str(tmp_path / "out"), "PER"])
