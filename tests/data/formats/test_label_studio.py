import json

import pytest

from tagger.data.formats import Annotation, read_texts, recognise


def span(start, end, label, text):
    value = {"start": start, "end": end, "labels": [label], "text": text}
    return {"value": value, "id": "x", "from_name": "label", "to_name": "text", "type": "labels"}


def task(*annotations, **keys):
    return {
        "id": 5,
        "data": {"text": "Ada left", "source": "a"},
        "annotations": [*annotations],
        **keys,
    }


@pytest.fixture
def write(tmp_path):
    def to_file(*tasks):
        path = tmp_path / "tasks.json"
        path.write_text(json.dumps(tasks, indent=2))
        return path

    return to_file


def test_an_export_is_recognised_and_read(write):
    path = write(task({"id": 1, "was_cancelled": False, "result": [span(0, 3, "PER", "Ada")]}))
    assert recognise(path) == "label_studio"
    (text,) = read_texts(path)
    assert (text.text, text.entities) == ("Ada left", [Annotation("PER", 0, 3)])
    assert text.properties == {"id": 5, "source": "a"}


def test_a_minimal_export_is_recognised_and_read(write):
    value = {"start": 0, "end": 3, "text": "Ada", "labels": ["PER"]}
    path = write({"id": 1, "text": "Ada left", "label": [value], "annotator": 1})
    assert recognise(path) == "label_studio"
    (text,) = read_texts(path)
    assert text.entities == [Annotation("PER", 0, 3)]


def test_what_is_left_out_is_counted(write, caplog):
    choice = {"type": "choices", "value": {"choices": ["good"]}}
    valid = {"result": [choice, span(0, 3, "PER", "Ada")]}
    cancelled = {"was_cancelled": True, "result": []}
    path = write(task(cancelled), task(cancelled, valid, {"result": []}), task())
    (text,) = read_texts(path)
    assert text.entities == [Annotation("PER", 0, 3)]
    assert "2 cancelled annotations" in caplog.text
    assert "1 tasks with several annotations, of which the first is read" in caplog.text
    assert "2 tasks without an annotation" in caplog.text
    assert "1 results that are no spans" in caplog.text


def test_errors_name_the_task(write):
    path = write(task({"result": []}), task({"result": [span(0, 3, "PER", "Bob")]}))
    with pytest.raises(ValueError, match=r"tasks.json, task 2: entity PER at 0 to 3 is 'Ada' in"):
        list(read_texts(path))
    for damaged in (
        {"annotations": 3},
        {"annotations": [3]},
        {"data": 3},
        {"annotations": [{"result": [3]}]},
    ):
        with pytest.raises(
            ValueError, match=r"tasks.json, task 1: expected .* to be (a list|an object), got 3"
        ):
            list(read_texts(write({**task(), **damaged}), "label_studio"))
    with pytest.raises(ValueError, match=r"tasks.json, task 1: expected the text as `data.text`"):
        list(read_texts(write({"data": {"image": 3}, "annotations": []})))
