import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tagger.data.formats import (
    FORMATS,
    AnnotatedText,
    Annotation,
    fit_to_tokens,
    read_texts,
    recognise,
    write_texts,
)

TEXT = AnnotatedText(
    "Élodie 😀 met\u00a0Ada Smith (IBM) in L'Oise.\r\nShe left Rome .",
    [
        Annotation("PER", 0, 6),
        Annotation("PER", 13, 22),
        Annotation("ORG", 24, 27),
        Annotation("LOC", 34, 38),
        Annotation("LOC", 50, 54),
    ],
    None,
    None,
    "demo",
    {},
)
SUFFIXES = {name: each.suffixes[0] for name, each in FORMATS.items()}


@pytest.mark.parametrize("name", FORMATS)
def test_a_written_file_is_recognised_and_read_back(name, tmp_path):
    path = tmp_path / f"texts{SUFFIXES[name]}"
    write_texts([TEXT, TEXT._replace(text="None here", entities=[])], path, name)
    assert recognise(path) == (name if name != "columns" else None)
    read = list(read_texts(path, name))
    quotes = [
        [(label, each.text[start:end]) for label, start, end in each.entities] for each in read
    ]
    assert sum(quotes, []) == [
        ("PER", "Élodie"),
        ("PER", "Ada Smith"),
        ("ORG", "IBM"),
        ("LOC", "Oise"),
        ("LOC", "Rome"),
    ]
    if name != "columns":
        assert [each.text for each in read] == [TEXT.text, "None here"]
        assert [each.entities for each in read] == [TEXT.entities, []]
    if "tokens" in FORMATS[name].keeps:
        fitted = [fit_to_tokens(each).text for each in read]
        again = tmp_path / f"again{SUFFIXES[name]}"
        write_texts(fitted, again, name)
        assert [each.tokens for each in read_texts(again, name)] == [each.tokens for each in fitted]


@st.composite
def annotated_texts(draw):
    characters = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
    text = draw(
        st.text(st.one_of(st.sampled_from("ab 😀é\r\n'\".,é\t\u2028"), characters), max_size=30)
    )
    borders = draw(st.lists(st.integers(0, len(text)), max_size=6, unique=True))
    borders = sorted(borders)
    entities = [
        Annotation(draw(st.sampled_from(["PER", "LOC"])), start, end)
        for start, end in zip(borders[::2], borders[1::2])
        if any(each.isalnum() for each in text[start:end])
    ]
    return AnnotatedText(text, entities, None, None, "fuzz", {})


@pytest.mark.parametrize("name", sorted({*FORMATS} - {"columns"}))
def test_any_text_survives_a_format(name, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuzz")

    @settings(max_examples=30, deadline=None, derandomize=True)
    @given(st.lists(annotated_texts(), min_size=1, max_size=3))
    def check(texts):
        texts = [fit_to_tokens(each).text for each in texts]
        # Formats of tokens have no empty texts, and CoNLL-U has no sentence without a token.
        texts = [each for each in texts if each.tokens]
        path = folder / f"{len(list(folder.iterdir()))}{SUFFIXES[name]}"
        if texts:
            write_texts(texts, path, name)
            options = {"offsets": "characters"} if "offsets" in FORMATS[name].options else {}
            read = list(read_texts(path, name, **options))
            assert [each.text for each in read] == [each.text for each in texts]
            assert [each.entities for each in read] == [each.entities for each in texts]

    check()


def test_unknown_formats_and_options_are_refused(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a", "label": []}\n')
    with pytest.raises(ValueError, match="no format 'docano'.*did you mean `doccano`"):
        read_texts(path, "docano")
    with pytest.raises(ValueError, match="format doccano has no `label_names`"):
        read_texts(path, label_names=["O"])
    (tmp_path / "b.txt").write_text("Ada B-PER\n")
    assert recognise(tmp_path / "b.txt") is None
    with pytest.raises(ValueError, match=r"b.txt: its format was not recognised"):
        read_texts(tmp_path / "b.txt")


def test_a_file_that_exists_stays(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("mine")
    with pytest.raises(FileExistsError):
        write_texts([TEXT], path, "doccano")
    assert path.read_text() == "mine"
