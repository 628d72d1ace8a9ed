import pytest

from tagger.data.formats import Annotation, read_texts, recognise


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a.txt").write_bytes("Élodie\r\nleft Rome".encode())
    lines = "T1\tPER 0 6\tÉlodie\nT2\tLOC 13 17\tRome\nR1\tin Arg1:T1 Arg2:T2\n#1\tNote T1\tok\n"
    (tmp_path / "a.ann").write_text(lines, encoding="utf-8")
    return tmp_path


def test_a_folder_and_a_file_are_recognised_and_read(folder, caplog):
    for path in (folder, folder / "a.txt", folder / "a.ann"):
        assert recognise(path) == "brat"
        (text,) = read_texts(path)
        assert text.text == "Élodie\r\nleft Rome"
        assert text.entities == [Annotation("PER", 0, 6), Annotation("LOC", 13, 17)]
        assert text.properties == {"name": "a"}
    assert "left out 2 relations, events" in caplog.text


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("T1\tPER 0 2;4 6\tÉl ie", r"a.ann:1: the entity has several parts, 0 2;4 6"),
        ("T1\tPER 0\tÉlodie", r"a.ann:1: expected an entity as"),
        (f"T1\tPER 0 {'9' * 5000}\tÉlodie", r"a.ann:1: expected an entity as"),
        ("T1\tPER 0 6\tElodie", r"a.ann: entity PER at 0 to 6 is 'Élodie' in .*, but 'Elodie'"),
    ],
)
def test_bad_lines_are_refused_by_place(line, message, folder):
    (folder / "a.ann").write_text(line, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        list(read_texts(folder))


def test_a_text_without_annotations_is_refused(folder):
    (folder / "b.txt").write_text("Nothing")
    with pytest.raises(ValueError, match=r"b.txt: expected an .ann file beside"):
        list(read_texts(folder))
