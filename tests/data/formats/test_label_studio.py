from tagger.data.formats import Annotation, read_texts, recognise


def span(start, end, label, text):
    value = {"start": start, "end": end, "labels": [label], "text": text}
    return {"value": value, "id": "x", "from_name": "label", "to_name": "text", "type": "labels"}


def task(*annotations):
    return {"id": 5, "data": {"text": "Ada left", "source": "a"}, "annotations": [*annotations]}


ADA = span(0, 3, "PER", "Ada")
PER = [Annotation("PER", 0, 3)]


def test_an_export_is_recognised_and_read(write):
    path = write("tasks.json", task({"id": 1, "was_cancelled": False, "result": [ADA]}))
    assert recognise(path) == "label_studio"
    (text,) = read_texts(path)
    assert (text.text, text.entities) == ("Ada left", PER)
    assert text.properties == {"id": 5, "source": "a"}


def test_a_minimal_export_is_recognised_and_read(write):
    minimal = {"id": 1, "text": "Ada left", "label": [ADA["value"]], "annotator": 1}
    path = write("tasks.json", minimal)
    assert recognise(path) == "label_studio"
    (text,) = read_texts(path)
    assert text.entities == PER


def test_what_is_left_out_is_counted(write, caplog):
    valid = {"result": [{"type": "choices", "value": {"choices": ["good"]}}, ADA]}
    cancelled = {"was_cancelled": True, "result": []}
    tasks = (task(cancelled), task(cancelled, valid, {"result": []}), task())
    (text,) = read_texts(write("tasks.json", *tasks))
    assert text.entities == PER
    assert "2 cancelled annotations" in caplog.text
    assert "1 tasks with several annotations, of which the first is read" in caplog.text
    assert "2 tasks without an annotation" in caplog.text
    assert "1 results that are no spans" in caplog.text
