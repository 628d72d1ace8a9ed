"""2,000 sentences, including odd ones, by all routes, and `predict-file` killed at random moments."""

import json
from http.client import HTTPConnection

import pytest

import tagger
from tests.allennlp_command import run_command
from tests.conftest import ROOT
from tests.integrations.service.running_service import running_service
from tests.kinds import KINDS, sentences, train
from tests.routes import check_onnx, check_python_and_windows, check_spacy, plain
from tests.system.interrupts import SIGNALS, STATUS, break_prediction, moments_of_prediction

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("time_limit")]

NUM_SENTENCES = 2_000
WINDOW = 32


@pytest.fixture(scope="module", params=KINDS)
def archive(request, tmp_path_factory):
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.chdir(ROOT)
        return train(request.param, tmp_path_factory.mktemp("kind"))


@pytest.fixture(scope="module")
def lines():
    return sentences(NUM_SENTENCES)


def answers_of_python(archive, lines):
    return [plain(tagged) for tagged in tagger.load(archive).tag(lines)]


def test_windows_and_batches_change_nothing(archive, lines, tmp_path):
    check_python_and_windows(archive, lines, tmp_path, (13, 2048))


def test_spacy_finds_the_same_entities(archive, lines):
    check_spacy(archive, lines)


def test_allennlps_predict_writes_the_same(archive, lines, warm_python, tmp_path):
    (tmp_path / "texts.txt").write_text("".join(f"{line}\n" for line in lines))
    options = ["--output-file", "out.jsonl", "--silent", "--batch-size", "100"]
    predict = ["predict", str(archive), "texts.txt", "--predictor-args", '{"plain": true}']
    outcome = run_command([*predict, *options], tmp_path)
    assert outcome.status == 0, outcome.last_line
    with open(tmp_path / "out.jsonl", encoding="utf-8") as written:
        found = [plain(json.loads(line)) for line in written]
    assert found == answers_of_python(archive, lines)


def test_the_service_answers_the_same(archive, lines):
    found = []
    with running_service(archive) as service:
        connection = HTTPConnection("127.0.0.1", service.port, timeout=300)
        for start in range(0, len(lines), 100):
            body = json.dumps({"inputs": lines[start : start + 100]})
            connection.request("POST", "/tag", body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            content = json.loads(answer.read())
            assert answer.status == 200, content
            found += map(plain, content["results"])
        connection.close()
    assert found == answers_of_python(archive, lines)


@pytest.mark.parametrize(
    "archive",
    ["word vectors", "fine-tuned", "tuned", "label chains", "blanks", "punctuation", "Italian"],
    indirect=True,
)
def test_onnx_gives_the_same_tags(archive, lines, tmp_path):
    check_onnx(archive, lines, tmp_path)


def test_a_killed_run_ends_with_the_same_bytes(archive, lines, warm_python, tmp_path):
    (tmp_path / "texts.txt").write_text("".join(f"{line}\n" for line in lines[:600]))
    predict = ["predict-file", str(archive), "texts.txt", "--plain", "--window", str(WINDOW)]
    outcome = run_command([*predict, "-o", "unbroken.jsonl"], tmp_path)
    assert outcome.status == 0, outcome.last_line
    for moment, number in zip(moments_of_prediction(3, 600 // WINDOW - 1), SIGNALS):
        broken = break_prediction(predict, tmp_path, moment, number)
        assert broken == (STATUS[number], []), moment.title


@pytest.mark.parametrize("archive", ["frozen", "documents", "blanks", "Italian"], indirect=True)
def test_ray_writes_what_predict_file_writes(archive, lines, tmp_path):
    pytest.importorskip("ray", reason="needs Ray: pip install '.[ray]'")
    (tmp_path / "in.txt").write_text("".join(f"{line}\n" for line in lines[:500]))
    predict = ["predict-file", str(archive), "in.txt", "--plain", "--window", "50"]
    for output, options in (("all.jsonl", []), ("rays.jsonl", ["--ray", "--workers", "1:2"])):
        outcome = run_command([*predict, "-o", output, *options], tmp_path)
        assert outcome.status == 0, outcome.last_line
    assert (tmp_path / "rays.jsonl").read_bytes() == (tmp_path / "all.jsonl").read_bytes()
