import json

import pytest

from tagger.data.formats import Annotation, read_texts, recognise, tokens_and_tags


def write(tmp_path, *records):
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(json.dumps(each) for each in records), encoding="utf-8")
    return path


def read_one(tmp_path, record, **options):
    (text,) = read_texts(write(tmp_path, record), **options)
    return text


@pytest.mark.parametrize(
    ("record", "name"),
    [
        ({"id": 3, "text": "Ada left", "label": [[0, 3, "PER"]]}, "doccano"),
        ({"text": "Ada left", "labels": [[0, 3, "PER"]]}, "doccano"),
        (
            {
                "text": "Ada left",
                "entities": [{"id": 1, "label": "PER", "start_offset": 0, "end_offset": 3}],
            },
            "doccano",
        ),
        ({"text": "Ada left", "entities": [[0, 3, "PER"]]}, "spacy_json"),
        (["Ada left", {"entities": [[0, 3, "PER"]]}], "spacy_json"),
        ({"text": "Ada left", "spans": [{"start": 0, "end": 3, "label": "PER"}]}, "prodigy"),
    ],
)
def test_records_of_annotation_tools_are_recognised_and_read(record, name, tmp_path):
    if isinstance(record, list):
        path = tmp_path / "a.json"
        path.write_text(json.dumps([record]))
    else:
        path = write(tmp_path, record)
    assert recognise(path) == name
    (text,) = read_texts(path)
    assert (text.text, text.entities) == ("Ada left", [Annotation("PER", 0, 3)])


def test_properties_are_kept_and_tokens_read(tmp_path):
    tokens = [
        {"text": "Ada", "start": 0, "end": 3, "id": 0},
        {"text": "left", "start": 4, "end": 8},
    ]
    text = read_one(tmp_path, {"text": "Ada left", "spans": [], "tokens": tokens, "meta": {"n": 1}})
    assert text.tokens == [(0, 3), (4, 8)]
    assert text.properties == {"meta": {"n": 1}}


def test_rejected_answers_are_left_out_and_counted(tmp_path, caplog):
    records = [
        {"text": "a", "spans": [], "answer": each} for each in ("accept", "reject", "ignore")
    ]
    assert len(list(read_texts(write(tmp_path, *records)))) == 1
    assert "left out 2 records" in caplog.text


@pytest.mark.parametrize(
    ("entity", "message"),
    [
        ([0, 9, "PER"], r"a.jsonl:2: entity PER at 0 to 9 is not within its text of 8 characters"),
        ([3, 3, "PER"], r"a.jsonl:2: entity PER at 3 to 3 is empty"),
        ([-1, 3, "PER"], r"a.jsonl:2: entity PER at -1 to 3 is not within"),
        ([0, 3, ""], r"a.jsonl:2: expected the label of an entity"),
        ([0, "3", "PER"], r"a.jsonl:2: expected an integer as end of entity PER, got '3'"),
        ("PER", r"a.jsonl:2: expected an entity as"),
    ],
)
def test_bad_entities_are_refused_by_place(entity, message, tmp_path):
    path = write(tmp_path, {"text": "x", "label": []}, {"text": "Ada left", "label": [entity]})
    with pytest.raises(ValueError, match=message):
        list(read_texts(path))


def test_bad_records_are_refused_by_place(tmp_path):
    with pytest.raises(ValueError, match=r"a.jsonl:1: expected a list under one of spans"):
        read_one(tmp_path, {"text": "Ada", "lables": []}, format="doccano")
    with pytest.raises(ValueError, match=r"a.jsonl:1: expected an object with a `text`"):
        read_one(tmp_path, {"txt": "Ada"}, format="doccano")
    (tmp_path / "b.jsonl").write_text('{"text": "a", "label": []}\n{"text": \n')
    with pytest.raises(ValueError, match=r"b.jsonl:2: expected JSON"):
        list(read_texts(tmp_path / "b.jsonl"))


@pytest.mark.parametrize(
    ("offsets", "entity"), [("utf16", [3, 6, "PER"]), ("bytes", [5, 8, "PER"])]
)
def test_offsets_of_another_unit_are_noticed_and_converted(offsets, entity, tmp_path):
    record = {"text": "😀 Ada left", "label": [entity]}
    with pytest.raises(
        ValueError, match=rf"a.jsonl:1: offsets seem to count .*`--offsets {offsets}`"
    ):
        read_one(tmp_path, record)
    assert read_one(tmp_path, record, offsets=offsets).entities == [Annotation("PER", 2, 5)]


def test_entities_in_scripts_without_blanks_do_not_seem_to_cut_words(tmp_path):
    record = {"text": "我，我王小明来", "label": [[3, 6, "PER"]]}
    assert read_one(tmp_path, record).entities == [Annotation("PER", 3, 6)]


def test_a_quote_that_differs_is_refused(tmp_path):
    record = {"text": "Ada left", "spans": [{"start": 0, "end": 4, "label": "PER", "text": "Bob"}]}
    with pytest.raises(ValueError, match="is 'Ada ' in the text, but 'Bob' in the record"):
        read_one(tmp_path, record)


@pytest.mark.parametrize(
    "record", ['{"text": "a\\ud800b", "label": []}', '{"text": "a", "\\uDC00": []}']
)
def test_half_of_a_character_is_refused_by_place(record, tmp_path):
    (tmp_path / "a.jsonl").write_text(record)
    with pytest.raises(ValueError, match=r"a.jsonl:1: '\\ud.00' is half of a surrogate pair"):
        list(read_texts(tmp_path / "a.jsonl", "doccano"))


@pytest.mark.parametrize(
    ("part", "expected"),
    [([[4, 8]], "O ? O"), ([], "O B-PER O"), ([[0, 5], [9, 10]], "? ? ?"), ([[8, 9]], "O B-PER O")],
)
def test_what_nobody_was_asked_about_has_no_tag(part, expected, tmp_path):
    record = {"text": "Der Adaa sah", "label": [[4, 8, "PER"]], "tagger_open": part}
    assert tokens_and_tags(read_one(tmp_path, record))[1] == expected.split()


@pytest.mark.parametrize("part", [[4, 8], [["a", 8]], [[4]]])
def test_what_is_open_must_be_pairs_of_numbers(part, tmp_path):
    text = read_one(tmp_path, {"text": "Ada", "label": [], "tagger_open": part})
    with pytest.raises(
        ValueError, match=r"a.jsonl:1: expected `tagger_open` to be a list of pairs"
    ):
        tokens_and_tags(text)
