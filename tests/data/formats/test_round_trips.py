"""Every format is recognised and read back as it was written."""

import json

import pytest
from hypothesis import given, settings, strategies as st

from tagger.data.formats import (
    FORMATS,
    AnnotatedText,
    Annotation,
    fit_to_tokens,
    read_texts,
    recognise,
    write_texts,
)
from tagger.data.reading import Reading

PLACES = [("PER", 0, 6), ("PER", 13, 22), ("ORG", 24, 27), ("LOC", 34, 38), ("LOC", 50, 54)]
CHARACTERS = "Élodie 😀 met\u00a0Ada Smith (IBM) in L'Oise.\r\nShe left Rome ."
TEXT = AnnotatedText(CHARACTERS, [Annotation(*each) for each in PLACES], None, None, "demo", {})
EMPTY = AnnotatedText("None here", [], None, None, "demo", {})
SUFFIXES = {name: each.suffixes[0] for name, each in FORMATS.items()}
#: Formats that preserve the text itself.
KEEPING = sorted({*FORMATS} - {"columns"})


@pytest.mark.parametrize("name", FORMATS)
def test_a_written_file_is_recognised_and_read_back(name, tmp_path):
    texts = [fit_to_tokens(TEXT).text, fit_to_tokens(EMPTY).text]
    path = tmp_path / f"texts{SUFFIXES[name]}"
    write_texts(texts, path, name)
    assert recognise(path) == (None if name == "columns" else name)
    for before, after in zip(texts, read_texts(path, Reading(name)), strict=True):
        quotes = [
            [(label, own.text[i:j]) for label, i, j in own.entities] for own in (before, after)
        ]
        assert quotes[0] == quotes[1]
        if name != "columns":  # It joins the tokens with spaces.
            assert (after.text, after.entities) == (before.text, before.entities)
        if "tokens" in FORMATS[name].keeps and name != "columns":
            assert after.tokens == before.tokens


@pytest.mark.parametrize("name", KEEPING)
def test_long_texts_and_rare_line_breaks_are_recognised_and_kept(name, tmp_path):
    text = AnnotatedText("Ada\u2028left\x85 " + "on " * 60_000, [], None, None, "a", {})
    path = tmp_path / f"texts{SUFFIXES[name]}"
    write_texts([text], path, name)
    assert recognise(path) == name
    assert [each.text for each in read_texts(path)] == [text.text]


@st.composite
def annotated_texts(draw):
    any_character = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
    characters = st.one_of(st.sampled_from("ab 😀é\r\n'\".,é\t\u2028"), any_character)
    text = draw(st.text(characters, max_size=30))
    borders = sorted(draw(st.lists(st.integers(0, len(text)), max_size=6, unique=True)))
    entities = [
        Annotation(draw(st.sampled_from(["PER", "LOC"])), start, end)
        for start, end in zip(borders[::2], borders[1::2])
        if any(each.isalnum() for each in text[start:end])
    ]
    return AnnotatedText(text, entities, None, None, "fuzz", {})


@pytest.mark.parametrize("name", KEEPING)
def test_any_text_survives_a_format(name, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuzz")

    @settings(max_examples=30, deadline=None, derandomize=True)
    @given(st.lists(annotated_texts(), min_size=1, max_size=3))
    def check(texts):
        texts = [fit_to_tokens(each).text for each in texts]
        # Token formats have no empty texts, and CoNLL-U has no empty sentences.
        texts = [each for each in texts if each.tokens]
        path = folder / f"{len(list(folder.iterdir()))}{SUFFIXES[name]}"
        if texts:
            write_texts(texts, path, name)
            options = {"offsets": "characters"} if "offsets" in FORMATS[name].takes else {}
            read = list(read_texts(path, Reading(name, **options)))
            assert [each.text for each in read] == [each.text for each in texts]
            assert [each.entities for each in read] == [each.entities for each in texts]

    check()


RECORDS = [
    {"text": "Ada left", "entities": [{"start_offset": 0, "end_offset": 3, "label": "PER"}]},
    {"text": "Ada", "spans": [{"start": 0, "end": 3, "label": "P", "text": "Ada"}], "tokens": []},
    {"data": {"text": "A"}, "annotations": [{"result": [{"value": {"start": 0, "labels": ["P"]}}]}]},
    {"tokens": ["Ada", "left"], "ner_tags": ["B-PER", "O"], "text": "Ada left"},
    ["Ada left", {"entities": [[0, 3, "PER"]]}],
]  # fmt: skip


def damaged(value):
    """Yields copies of a value with one part replaced by something of another type."""
    yield from (None, -1, 1.5, "x", "", [], {}, True, [1], {"a": 1}, [[]])
    if isinstance(value, (dict, list)):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            for other in damaged(part):
                copy = value.copy()
                copy[key] = other
                yield copy


@pytest.mark.parametrize("record", RECORDS, ids=range(len(RECORDS)))
def test_damaged_records_are_read_or_refused_with_their_place(record, tmp_path):
    path, messages = tmp_path / "damaged.json", []
    for each in damaged(record):
        path.write_text(json.dumps([each]))
        for name in (None, "doccano", "label_studio", "huggingface"):
            try:
                list(read_texts(path, Reading(name)))
            except ValueError as error:
                messages.append(str(error))
    assert messages
    assert all(message.startswith(str(path)) for message in messages)
