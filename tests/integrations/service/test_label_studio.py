"""The machine learning backend for Label Studio, called as Label Studio calls it."""

import json
import re
import threading
import time

import pytest
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError

from tagger.data.dataset_readers.file_lists import listed_files
from tagger.integrations.service import retraining as module
from tagger.integrations.service.app import Served, create_app
from tagger.integrations.service.label_studio import controls_of, doubt_of
from tagger.integrations.service.limits import RequestError
from tagger.integrations.service.retraining import Retraining
from tests.conftest import ROOT
from tests.integrations.service.test_app import ask

pytestmark = pytest.mark.usefixtures("time_limit", "at_root")

CONFIG = """<View>
  <!-- what people see -->
  <Labels name="kind" toName="words">
    <Label value="PER"/><Label value="LOC"/><Label value="ORG"/>
  </Labels>
  <Text name="words" value="$body"/>
</View>"""
PROJECT = {"id": 3, "label_config": CONFIG}
TEXT = "Grace Mwangi works in Oslo."


@pytest.fixture
def config(trained):
    return Params.from_file(trained / "config.json")


@pytest.fixture
def retraining(config, tmp_path):
    return Retraining(tmp_path / "studio", config, "toy", 2)


@pytest.fixture
def app(model, retraining):
    return create_app(Served(model, "toy"), retraining=retraining)


@pytest.fixture
def commands(monkeypatch):
    """The commands that would train; their processes end when told to."""

    class Process:
        def __init__(self, command, **_):
            self.status, self.ended = 0, threading.Event()
            started.append((command, self))

        def wait(self):
            self.ended.wait(60)
            return self.status

        def terminate(self):
            self.status = -15
            self.ended.set()

    started = []
    monkeypatch.setattr(module.subprocess, "Popen", Process)
    yield started
    for _, process in started:
        process.ended.set()


def post(app, path, status=200, **body):
    answer = ask(app, "POST", path, json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


def task_of(number, text=TEXT):
    return {"id": number, "data": {"body": text, "source": "x"}, "project": 3}


def annotation_of(number, *spans, text=TEXT, **rest):
    result = [
        {
            "id": f"r{n}",
            "from_name": "kind",
            "to_name": "words",
            "type": "labels",
            "value": {"start": start, "end": end, "text": text[start:end], "labels": [label]},
        }
        for n, (label, start, end) in enumerate(spans)
    ]
    return {"id": number, "result": result, "was_cancelled": False, **rest}


def save(app, number, *spans, action="ANNOTATION_CREATED", text=TEXT, **rest):
    annotation = annotation_of(100 + number, *spans, text=text, **rest)
    event = {"action": action, "project": PROJECT, "annotation": annotation}
    return post(app, "/webhook", **event, task=task_of(number, text))


def wait_for(condition):
    for _ in range(200):
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("it did not happen")


def test_setup_names_the_version(app):
    setup = {"project": "3.17", "schema": CONFIG, "hostname": "http://localhost:8080"}
    assert post(app, "/setup", **setup, access_token="x") == {"model_version": "toy"}
    assert ask(app, "GET", "/versions").json() == {"versions": ["toy"]}
    assert ask(app, "GET", "/health").status_code == 200


def test_tasks_get_the_tagger_s_entities_with_scores(app, model):
    texts = [TEXT, "", "\U0001f600 Paulo Ferraz left Lisbon."]
    tasks = [task_of(n, text) for n, text in enumerate(texts)]
    found = post(app, "/predict", tasks=tasks, label_config=CONFIG, params={"context": None})
    expected = model.tag(texts, leak_labels=model.labels)
    assert len(found["results"]) == 3
    for text, each, result in zip(texts, expected, found["results"]):
        values = [item["value"] for item in result["result"]]
        kept = [entity for entity in each.entities if entity.label in ("PER", "LOC", "ORG")]
        assert [(v["labels"], v["start"], v["end"]) for v in values] == [
            ([entity.label], entity.start, entity.end) for entity in kept
        ]
        assert all(text[v["start"] : v["end"]] == v["text"] for v in values)
        scores = [item["score"] for item in result["result"]]
        assert scores == pytest.approx([entity.probability for entity in kept])
        assert {(i["from_name"], i["to_name"], i["type"]) for i in result["result"]} <= {
            ("kind", "words", "labels")
        }
        assert result["score"] == pytest.approx(1 - doubt_of(each), abs=1e-5)
        assert result["model_version"] == "toy"
    assert post(app, "/predict", tasks=[], label_config=CONFIG)["results"] == []


def test_a_text_in_doubt_has_the_lower_score(app, model):
    known = (ROOT / "data/toy/train.txt").read_text().splitlines()
    sentence = " ".join(line.split()[0] for line in known[: known.index("")])
    tasks = [task_of(1, sentence), task_of(2, "Xqz Zzt vrr Oslo Wwk Grr Mmb of Tqq and Pll")]
    first, second = post(app, "/predict", tasks=tasks, label_config=CONFIG)["results"]
    assert 0 <= second["score"] < first["score"] <= 1


def test_labels_that_the_project_lacks_are_not_suggested(app, caplog):
    schema = CONFIG.replace('<Label value="LOC"/>', "")
    post(app, "/setup", schema=schema)
    assert "LOC" in caplog.text
    (found,) = post(app, "/predict", tasks=[task_of(1)], label_config=schema)["results"]
    assert {each["value"]["labels"][0] for each in found["result"]} == {"PER"}


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("/predict", {"tasks": [task_of(1)]}, "must be XML"),
        ("/predict", {"tasks": [task_of(1)], "label_config": "<View>"}, "must be XML"),
        (
            "/predict",
            {"tasks": [task_of(1)], "label_config": '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'},
            "without declarations",
        ),
        ("/predict", {"tasks": [task_of(1)], "label_config": "<View/>"}, "labels of a text"),
        ("/predict", {"tasks": [3], "label_config": CONFIG}, "`task` must be an object"),
        ("/predict", {"tasks": [{"data": {}}], "label_config": CONFIG}, r"task 0 .* data\.body"),
        ("/setup", {}, "must be XML"),
        ("/webhook", {"action": "ANNOTATION_CREATED", "task": task_of(1)}, "1 tasks with 0 ann"),
        (
            "/webhook",
            {"action": "ANNOTATION_CREATED", "task": task_of(1), "annotation": annotation_of(1)},
            "`project` must be an object",
        ),
    ],
)
def test_bodies_of_another_form_are_refused(path, body, message, app):
    error = post(app, path, 422, **body)["error"]
    assert re.search(message, error["message"])


def test_a_span_outside_the_text_is_refused_and_nothing_kept(app, retraining):
    event = {"action": "ANNOTATION_CREATED", "project": PROJECT, "task": task_of(1)}
    wrong = annotation_of(1, ("PER", 0, 900))
    assert "task 1" in post(app, "/webhook", 422, **event, annotation=wrong)["error"]["message"]
    assert retraining.num_texts == 0


def test_annotations_are_kept_changed_and_deleted(app, retraining, config, commands, tmp_path):
    retraining._number = 0
    save(app, 1, ("PER", 0, 12))
    save(app, 1, ("PER", 0, 5), action="ANNOTATION_UPDATED")
    found = save(app, 2, ("LOC", 22, 26))
    assert found == {"status": "ok", "annotations": 2}
    again = Retraining(tmp_path / "studio", config, "toy", 0)
    assert again.num_texts == 2
    lines = (tmp_path / "studio/annotations.jsonl").read_text().splitlines()
    spans = {json.loads(line)["document"]: json.loads(line)["spans"] for line in lines}
    assert spans["1"] == [{"start": 0, "end": 5, "label": "PER"}]
    post(app, "/webhook", action="ANNOTATIONS_DELETED", annotations=[{"id": 102}], project=PROJECT)
    save(app, 1, ("PER", 0, 5), action="ANNOTATION_UPDATED", was_cancelled=True)
    assert retraining.num_texts == 0
    assert commands == []
    for action in ("TASKS_CREATED", "PROJECT_UPDATED", None):
        assert post(app, "/webhook", action=action, project=PROJECT)["status"] == "ok"


def test_it_trains_after_enough_texts_and_at_a_request(app, retraining, commands, tmp_path):
    assert save(app, 1, ("PER", 0, 12))["status"] == "ok"
    assert save(app, 1, ("PER", 0, 12))["status"] == "ok"  # the same text
    assert save(app, 2, ("PER", 0, 12))["status"] == "training"
    # One at a time; what comes meanwhile is trained on afterwards.
    assert save(app, 3, ("PER", 0, 12))["status"] == "ok"
    assert post(app, "/webhook", action="START_TRAINING", project=PROJECT)["status"] == "ok"
    ((command, process),) = commands
    config = json.loads((tmp_path / "studio/runs/1.json").read_text())
    assert command[-4:-1] == ["train", str(tmp_path / "studio/runs/1.json"), "-s"]
    toy, own = listed_files(config["train_data_path"])
    assert toy.path == ROOT / "data/toy/train.txt"
    assert len(own.path.read_text().splitlines()) == 2
    process.ended.set()
    wait_for(lambda: retraining._running is None)
    assert post(app, "/webhook", action="START_TRAINING", project=PROJECT)["status"] == "training"
    assert len(commands) == 2


def test_a_service_that_starts_again_counts_what_no_training_has_seen(
    app, retraining, config, commands, tmp_path
):
    save(app, 1, ("PER", 0, 12))
    save(app, 2, ("PER", 0, 12))
    retraining._number = 0
    save(app, 2, ("PER", 0, 5), action="ANNOTATION_UPDATED")
    save(app, 3, ("PER", 0, 12), text=f"{TEXT}\u2028\x85 \r And more.")
    again = Retraining(tmp_path / "studio", config, "toy", 0)
    assert again._changed == {"1", "2", "3"}
    commands[0][1].status = 1
    commands[0][1].ended.set()
    wait_for(lambda: retraining._running is None)
    # As if it had ended well.
    (tmp_path / "studio/runs/1").mkdir()
    (tmp_path / "studio/runs/1/model.tar.gz").touch()
    again = Retraining(tmp_path / "studio", config, "toy", 0)
    assert (again.version, again._changed) == ("toy-1", {"2", "3"})


def test_the_new_tagger_answers_and_old_promises_are_gone(
    app, retraining, model, commands, monkeypatch
):
    biased = model.with_bias(PER=-50.0)
    loaded = []
    name = "tagger.integrations.service.label_studio.load"
    monkeypatch.setattr(name, lambda path: loaded.append(path) or biased)
    save(app, 1, ("PER", 0, 12))
    save(app, 2, ("PER", 0, 12))
    commands[0][1].ended.set()
    wait_for(lambda: retraining.version == "toy-1")
    assert [path.parts[-3:] for path in loaded] == [("runs", "1", "model.tar.gz")]
    (found,) = post(app, "/predict", tasks=[task_of(1)], label_config=CONFIG)["results"]
    assert found["model_version"] == "toy-1"
    assert "PER" not in [each["value"]["labels"][0] for each in found["result"]]
    biases = {each["name"]: each["bias"] for each in ask(app, "GET", "/labels").json()["labels"]}
    assert biases["PER"] == -50


@pytest.mark.parametrize("kind", ["failed", "broken"])
def test_a_failed_training_leaves_the_old_tagger(kind, app, retraining, commands, caplog):
    save(app, 1, ("PER", 0, 12))
    save(app, 2, ("PER", 0, 12))
    _, process = commands[0]
    process.status = 1 if kind == "failed" else 0  # its archive does not exist
    process.ended.set()
    wait_for(lambda: retraining._running is None)
    assert retraining.version == "toy"
    assert "still answers" in caplog.text
    assert post(app, "/predict", tasks=[task_of(1)], label_config=CONFIG)["results"]


def test_data_that_are_gone_are_named_at_the_start(config, tmp_path):
    config["train_data_path"] = "gone.txt"
    with pytest.raises(
        ConfigurationError, match=r"gone.txt, which does not exist here.*--train-data"
    ):
        Retraining(tmp_path, config, "toy", 1)
    found = Retraining(tmp_path, config, "toy", 1, str(ROOT / "data/toy/dev.txt"))
    assert found.version == "toy"


def test_controls_are_those_of_a_text():
    other = '<View><Labels name="a" toName="b"><Label value="X"/></Labels><Image name="b"/></View>'
    with pytest.raises(RequestError):
        controls_of(other)
    both = other.replace("</View>", CONFIG.removeprefix("<View>"))
    assert controls_of(both) == ("kind", "words", "body", ("PER", "LOC", "ORG"))
