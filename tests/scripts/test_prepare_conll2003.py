import pytest

from scripts import prepare_conll2003
from scripts.prepare_conll2003 import Counts

TEXT = "-DOCSTART- -X- O O\n\nEU NNP I-NP I-ORG\nmet VBD I-VP O\nBonn NNP I-NP I-LOC\n"


@pytest.fixture
def source(tmp_path, monkeypatch):
    """A copy of a corpus of one sentence a file, which takes the place of CoNLL-2003."""
    folder = tmp_path / "source"
    folder.mkdir()
    for name in ("eng.train", "eng.testa", "eng.testb"):
        (folder / name).write_text(TEXT)
    expected = dict.fromkeys(prepare_conll2003.EXPECTED, Counts(1, 3, 2))
    monkeypatch.setattr(prepare_conll2003, "EXPECTED", expected)
    return folder


@pytest.fixture
def target(tmp_path):
    return tmp_path / "data" / "conll2003"


def prepare(source, target, *options):
    prepare_conll2003.main([str(source), "--target", str(target), *options])
    return {path.name: path.read_text() for path in target.iterdir()}


def test_a_right_copy_is_put_in_place_with_a_word_on_its_licence(source, target, capsys):
    files = prepare(source, target)
    assert files == dict.fromkeys(["eng.train", "eng.testa", "eng.testb"], TEXT)
    output = capsys.readouterr().out
    assert "(c) Reuters and for research use only" in output
    assert "eng.testb: 1 sentences, 3 tokens, 2 entities; as expected" in output


def test_other_names_of_the_files_are_known(source, target):
    (source / "eng.train").rename(source / "train.txt")
    (source / "eng.testa").rename(source / "valid.txt")
    (source / "eng.testb").rename(source / "test.txt")
    assert set(prepare(source, target)) == {"eng.train", "eng.testa", "eng.testb"}


def test_a_copy_with_other_counts_is_refused_and_nothing_is_copied(source, target, capsys):
    (source / "eng.testa").write_text(TEXT + "\nThe DT I-NP O\nend NN I-NP O\n")
    with pytest.raises(SystemExit, match="not the corpus as distributed"):
        prepare(source, target)
    expected = "eng.testa: 2 sentences, 5 tokens, 2 entities; expected 1 sentences, 3 tokens, 2 ent"
    assert expected in capsys.readouterr().out
    assert not target.exists()


def test_a_file_that_cannot_be_read_is_named_with_its_line(source, target):
    (source / "eng.testa").write_text(TEXT + "loose\n")
    with pytest.raises(SystemExit, match="eng.testa:6: expected 4 columns"):
        prepare(source, target)


def test_a_missing_file_is_named(source, target):
    (source / "eng.testb").unlink()
    with pytest.raises(
        SystemExit, match=r"source: expected a file eng.testb or test.txt, got none"
    ):
        prepare(source, target)


def test_a_file_that_differs_is_replaced_only_by_force(source, target):
    prepare(source, target)
    (target / "eng.testa").write_text("mine")
    with pytest.raises(SystemExit, match="eng.testa would change; pass `--force` to replace"):
        prepare(source, target)
    assert (target / "eng.testa").read_text() == "mine"
    assert prepare(source, target, "--force")["eng.testa"] == TEXT


def test_files_that_are_there_stay_untouched(source, target, capsys):
    prepare(source, target)
    (target / "eng.train").chmod(0o444)
    prepare(source, target)
    assert "all there already" in capsys.readouterr().out
