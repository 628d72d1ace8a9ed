import pytest

from tagger.data.formats import Annotation, read_texts, recognise, tokens_and_tags

PER = Annotation("PER", 0, 3)


@pytest.fixture
def read_one(write):
    def read_one(record, **options):
        (text,) = read_texts(write("a.jsonl", record), **options)
        return text

    return read_one


def with_text(**keys):
    return {"text": "Ada left", **keys}


@pytest.mark.parametrize(
    ("record", "name"),
    [
        (with_text(id=3, label=[[0, 3, "PER"]]), "doccano"),
        (with_text(labels=[[0, 3, "PER"]]), "doccano"),
        (with_text(entities=[{"label": "PER", "start_offset": 0, "end_offset": 3}]), "doccano"),
        (with_text(entities=[[0, 3, "PER"]]), "spacy_json"),
        (["Ada left", {"entities": [[0, 3, "PER"]]}], "spacy_json"),
        (with_text(spans=[{"start": 0, "end": 3, "label": "PER"}]), "prodigy"),
    ],
)
def test_records_of_annotation_tools_are_recognised_and_read(record, name, write):
    path = write("a.json", record)
    assert recognise(path) == name
    (text,) = read_texts(path)
    assert (text.text, text.entities) == ("Ada left", [PER])


def test_properties_are_kept_and_tokens_read(read_one):
    tokens = [
        {"text": "Ada", "start": 0, "end": 3, "id": 0},
        {"text": "left", "start": 4, "end": 8},
    ]
    text = read_one(with_text(spans=[], tokens=tokens, meta={"n": 1}))
    assert text.tokens == [(0, 3), (4, 8)]
    assert text.properties == {"meta": {"n": 1}}


def test_rejected_answers_are_left_out_and_counted(write, caplog):
    answers = ("accept", "reject", "ignore")
    path = write("a.jsonl", *({"text": "a", "spans": [], "answer": each} for each in answers))
    assert len(list(read_texts(path))) == 1
    assert "left out 2 records" in caplog.text


@pytest.mark.parametrize(
    ("offsets", "entity"), [("utf16", [3, 6, "PER"]), ("bytes", [5, 8, "PER"])]
)
def test_offsets_of_another_unit_are_noticed_and_converted(offsets, entity, read_one):
    record = {"text": "😀 Ada left", "label": [entity]}
    with pytest.raises(
        ValueError, match=rf"a.jsonl:1: offsets seem to count .*`--offsets {offsets}`"
    ):
        read_one(record)
    assert read_one(record, offsets=offsets).entities == [Annotation("PER", 2, 5)]


def test_entities_in_scripts_without_blanks_do_not_seem_to_cut_words(read_one):
    record = {"text": "我，我王小明来", "label": [[3, 6, "PER"]]}
    assert read_one(record).entities == [Annotation("PER", 3, 6)]


@pytest.mark.parametrize(
    ("part", "expected"),
    [([[4, 8]], "O ? O"), ([], "O B-PER O"), ([[0, 5], [9, 10]], "? ? ?"), ([[8, 9]], "O B-PER O")],
)
def test_what_nobody_was_asked_about_has_no_tag(part, expected, read_one):
    record = {"text": "Der Adaa sah", "label": [[4, 8, "PER"]], "tagger_open": part}
    assert tokens_and_tags(read_one(record))[1] == expected.split()


@pytest.mark.parametrize("part", [[4, 8], [["a", 8]], [[4]]])
def test_what_is_open_must_be_pairs_of_numbers(part, read_one):
    text = read_one({"text": "Ada", "label": [], "tagger_open": part})
    with pytest.raises(
        ValueError, match=r"a.jsonl:1: expected `tagger_open` to be a list of pairs"
    ):
        tokens_and_tags(text)
