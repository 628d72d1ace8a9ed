"""The service's ASGI application, called in this process."""

import asyncio
import json
import random
import re
from types import SimpleNamespace

import httpx
import pytest

from tagger.integrations.service.app import Served, create_app, render_page
from tagger.integrations.service.batcher import Batcher, Job
from tagger.integrations.service.limits import Limits, RequestError, check_biases, check_extras
from tagger.integrations.service.service_metrics import ServiceMetrics
from tagger.predictors.saved_tagger import SavedTagger
from tagger.tools.tuning.curves import Curve, DecodingCurves
from tagger.tools.tuning.goals import Goal
from tagger.tools.tuning.promise_record import Promise
from tagger_texts.display import label_colours
from tagger_texts.tagged_text import Extras
from tests.conftest import ROOT
from tests.integrations.service.malformed_requests import attacks

pytestmark = pytest.mark.usefixtures("time_limit")

TEXT = "Ada  Lovelace met Mr. \U0001f600 Babbage in London."
TEXTS = [TEXT, "Grace Mwangi works for <Acme & Sons> in Oslo.", "Maria left.", " \n"]
ABOUT = ("document", 40, 39.0, 40.0, "dev.txt", "0" * 64, "2026-01-31")
CURVES = DecodingCurves("dev.txt", {"PER": Curve(3, [-1.0, 1.0], [None, 0.5], [0.0, 1.0])})


@pytest.fixture
def app(model):
    return create_app(Served(model, "toy", CURVES))


def ask_all(app, *requests):
    """Sends requests (method, path, arguments of httpx) concurrently and returns the answers."""

    async def ask():
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            answers = asyncio.gather(
                *(client.request(method, path, **rest) for method, path, rest in requests)
            )
            return await asyncio.wait_for(answers, 60)

    return asyncio.run(ask())


def ask(app, method, path, **rest):
    return ask_all(app, (method, path, rest))[0]


def tag(app, **body):
    return ask(app, "POST", "/tag", json=body)


def assert_gives(answer, results):
    """Asserts that the answer holds these results of a saved tagger."""
    assert answer.status_code == 200, answer.text
    given = answer.json()["results"]
    assert len(given) == len(results)
    for mine, wanted in zip(given, results):
        lists = {
            name: [each._asdict() for each in getattr(wanted, name)]
            for name in ("entities", "candidates")
        }
        assert (mine.pop("sets"), mine.pop("sequences")) == ([], [])
        wanted = json.loads(json.dumps({**wanted._asdict(), **lists}))
        for name in ("sentences", "known_labels", "sets", "sequences"):
            del wanted[name]
        for name in ("leak_probability", "expected_missed"):
            assert mine.pop(name) == pytest.approx(wanted.pop(name), abs=1e-5)
        for name in ("entities", "probabilities", "candidates"):
            numbers = [mine.pop(name), wanted.pop(name)]
            assert len(numbers[0]) == len(numbers[1])
            for one, other in zip(*numbers):
                assert one == pytest.approx(other, abs=1e-5)
        assert mine == wanted


def test_answers_equal_the_results_of_the_saved_tagger(app, model):
    assert_gives(tag(app, text=TEXT), [model.tag(TEXT)])
    assert_gives(tag(app, tokens=["New York", "."]), [model.tag(tokens=["New York", "."])])
    inputs = [*TEXTS, ["Ada", "left"], []]
    assert_gives(tag(app, inputs=inputs), model.tag(inputs))
    assert_gives(tag(app, inputs=[]), [])
    assert_gives(tag(app, text=TEXT, probabilities=True), [model.tag(TEXT, probabilities=True)])
    extras = {"leak_labels": ["PER", "LOC"], "candidates": 0.01}
    assert_gives(tag(app, inputs=inputs, **extras), model.tag(inputs, **extras))
    biased = model.with_bias(LOC=-100)
    assert biased.tag(TEXT).entities != model.tag(TEXT).entities
    assert_gives(tag(app, text=TEXT, decode_bias={"LOC": -100}), [biased.tag(TEXT)])


def test_batching_requests_with_different_biases_changes_nothing(app, model):
    wishes = [
        {"inputs": TEXTS[number % 3 :], "probabilities": number % 2 == 0, "decode_bias": bias}
        for number, bias in enumerate(
            [{}, {"PER": -100}, {"PER": 3.5}, {"LOC": 2, "PER": -1}, {"LOC": -100}, {"ORG": 9}] * 3
        )
    ]
    answers = ask_all(app, *(("POST", "/tag", {"json": wish}) for wish in wishes))
    for answer, wish in zip(answers, wishes):
        alone = model.with_bias(wish["decode_bias"])
        assert_gives(answer, alone.tag(wish["inputs"], probabilities=wish["probabilities"]))
    assert len({answer.text for answer in answers}) >= 6
    metrics = ask(app, "GET", "/metrics").text
    num_batches = float(re.search(r"^tagger_batch_texts_count (\S+)", metrics, re.M)[1])
    assert num_batches <= 3
    num_texts = sum(len(wish["inputs"]) for wish in wishes)
    assert f"tagger_texts_total {num_texts:.1f}" in metrics
    assert 'tagger_requests_total{path="/tag",status="200"} 18.0' in metrics


def test_a_failing_request_does_not_affect_the_others(model):
    batcher = Batcher(model, Limits(), ServiceMetrics())
    jobs = [Job(model, inputs, Extras(), ()) for inputs in ([TEXT], [["Ada", ""]], ["a " * 2_001])]
    good, broken, refused = batcher.outcomes(jobs)
    assert [each.tags for each in good] == [model.tag(TEXT).tags]
    assert isinstance(broken, TypeError)
    assert (refused.status_code, refused.limit, refused.got) == (413, 2_000, 2_001)


def test_a_request_is_answered_by_the_tagger_it_was_checked_for(model):
    old = model.with_bias({"LOC": -100})
    batcher = Batcher(model, Limits(), ServiceMetrics())
    jobs = [Job(each, [TEXT], Extras(), ()) for each in (old, model, old)]
    batcher.model = model.with_bias({"PER": -100})
    answers = [[found] for found in (old.tag(TEXT), model.tag(TEXT), old.tag(TEXT))]
    assert answers[0] != answers[1]
    assert batcher.outcomes(jobs) == answers


def test_requests_are_answered_even_if_their_biases_or_the_batch_fail(model, monkeypatch):
    def refuse(_, biases):
        raise ValueError(f"no {biases}")

    app = create_app(Served(model, "toy", CURVES))
    requests = [{"text": TEXT}, {"text": TEXT, "decode_bias": {"LOC": 1}}]
    requests = [("POST", "/tag", {"json": each}) for each in requests]
    monkeypatch.setattr(SavedTagger, "with_bias", refuse)
    assert [answer.status_code for answer in ask_all(app, *requests)] == [200, 500]
    monkeypatch.setattr(Batcher, "outcomes", refuse)
    assert [answer.status_code for answer in ask_all(app, *requests)] == [500, 500]


def test_when_too_many_requests_wait_further_ones_are_told_to_retry(model):
    app = create_app(Served(model, "toy"), Limits(waiting_requests=2))
    answers = ask_all(app, *[("POST", "/tag", {"json": {"text": TEXT}})] * 9)
    statuses = [answer.status_code for answer in answers]
    assert set(statuses) == {200, 503}
    refused = answers[statuses.index(503)]
    assert refused.headers["Retry-After"] == "1"
    assert refused.json()["error"]["code"] == "busy"
    assert tag(app, text=TEXT).status_code == 200


@pytest.mark.parametrize(
    ("limits", "body", "code", "got"),
    [
        ({"texts": 2}, {"inputs": ["a"] * 3}, "too_many_texts", 3),
        ({"text_characters": 5}, {"text": "a b c d"}, "text_too_long", 7),
        ({"text_characters": 5}, {"tokens": ["abc", "def"]}, "text_too_long", 6),
        ({"run_characters": 3}, {"text": "a abcd b"}, "word_too_long", 4),
        ({"run_characters": 3}, {"inputs": ["a", ["abcde"]]}, "word_too_long", 5),
        ({"text_tokens": 3}, {"text": "a b, c"}, "too_many_tokens", 4),
        ({"text_tokens": 3}, {"tokens": ["a"] * 4}, "too_many_tokens", 4),
        ({"request_tokens": 3}, {"inputs": ["a b", "c d", "e"]}, "too_many_tokens", 4),
        ({"body_bytes": 20}, {"text": "a b c d e f"}, "body_too_large", 22),
    ],
)
def test_a_limit_is_inclusive_and_its_message_names_the_size(limits, body, code, got, model):
    app = create_app(Served(model, "toy"), Limits(**limits))
    answer = tag(app, **body)
    error = answer.json()["error"]
    ((name, limit),) = limits.items()
    assert (answer.status_code, error["code"]) == (413, code)
    assert (error["limit"], error["got"]) == (limit, got)
    assert f"at most {limit} " in error["message"]
    roomier = create_app(Served(model, "toy"), Limits(**{name: got}))
    # For `request_tokens` the count stops at the fourth token, but the request has five.
    passes = tag(roomier, **body).status_code == 200
    assert passes or name == "request_tokens"


JSON, TEXT_A = "application/json", b'{"text": "a"}'
TWICE = b'{"text": "a", "decode_bias": {"A": 1, "A": 2}}'
#: Request bodies, their content types, and the reason given for refusing them.
UNREADABLE = [
    (TEXT_A, "application/x-www-form-urlencoded", 422, "send `Content-Type: applic"),
    (TEXT_A, "text/plain", 422, "got 'text/plain'; send `Content-Type: application/json`"),
    (b'{"text": ' + b"9" * 5000 + b"}", JSON, 422, "a number has 5000 digits"),
    (b'{"text": "a", "text": "b"}', JSON, 422, "an object has `text` twice; keep"),
    (TWICE, JSON, 422, "an object has `A` twice; keep one"),
    (b"[" * 100_000, JSON, 400, "the body is nested too deeply"),
    (b'{"text": "\xff"}', JSON, 400, "the body is not UTF-8"),
    (b'{"text": }', JSON, 400, "the body is no JSON"),
    (
        b'{"text": "a", "decode_bias": {"PRE": 1}}',
        *(
            JSON,
            422,
            "`PRE`, which is no label of this model (EVENT, LOC, ORG, PER); did you mean `PER`?",
        ),
    ),
    (
        b'{"text": "a", "leak_labels": ["PER", "PRE"]}',
        *(JSON, 422, "`leak_labels` names `PRE`, which is no label of this model"),
    ),
    (
        b'{"text": "a", "candidates": 0.0001}',
        *(JSON, 422, "candidates: Input should be greater than or equal to 0.001"),
    ),
]


@pytest.mark.parametrize(("content", "kind", "status", "message"), UNREADABLE)
def test_a_malformed_body_is_refused_with_the_reason(content, kind, status, message, app):
    answer = ask(app, "POST", "/tag", content=content, headers={"Content-Type": kind})
    error = answer.json()["error"]
    assert answer.status_code == status
    assert message in error["message"]
    assert (error["code"] == "unknown_label") == ("no label of this model" in message)


def test_a_tagger_without_biases_refuses_them():
    check_biases({}, {})
    with pytest.raises(RequestError, match="must be left out: this tagger decides each label"):
        check_biases({"PER": 1.0}, {})
    without = SimpleNamespace(labels=["PER"], finds_entities=True, tag_encoding="IOB1")
    check_extras(Extras(leak_labels=("PER",)), without)
    message = "`candidates` must be left out: this tagger has no prob"
    with pytest.raises(RequestError, match=message):
        check_extras(Extras(candidates=0.5), without)


def test_labels_are_listed_with_biases_curves_and_promises(model):
    promises = [Promise(Goal(("PER", "LOC"), "leak", 0.1), 0.95, *ABOUT)]
    app = create_app(Served(model.with_bias(LOC=1.3125), "toy", CURVES, promises))
    answer = ask(app, "GET", "/labels").json()
    (promise,) = answer["promises"]
    assert (promise["labels"], promise["date"]) == (["PER", "LOC"], "2026-01-31")
    assert promise["text"].startswith("a share of at most 0.1 that misses any PER, LOC, with 95 %")
    biases = {each["name"]: each["bias"] for each in answer["labels"]}
    assert biases == {"EVENT": 0, "LOC": 1.3125, "ORG": 0, "PER": 0}
    assert answer["labels"][3]["curve"] == CURVES.labels["PER"]._asdict()
    assert answer["labels"][1]["curve"] is None
    assert answer["curves_data"] == "dev.txt"
    assert answer["limits"] == Limits()._asdict()
    # A control at 0 sends 0, which replaces the model's own bias.
    assert_gives(tag(app, text=TEXT, decode_bias={"LOC": 0}), [model.tag(TEXT)])


def test_health_names_the_served_model(app):
    answer = ask(app, "GET", "/health").json()
    assert (answer["status"], answer["model"], answer["waiting_requests"]) == ("ok", "toy", 0)


def test_requests_from_other_sites_or_for_other_host_names_are_refused(app, model):
    for status, headers in [
        (200, {}),
        (200, {"Host": "127.0.0.1:8000", "Origin": "http://127.0.0.1:8000"}),
        (200, {"Host": "[::1]:8000"}),
        # A name could be made to resolve to this machine; an address could not.
        (200, {"Host": "192.0.2.1:8000"}),
        (421, {"Host": "192.0.2.1.evil.example"}),
        (421, {"Host": "evil.example"}),
        (421, {"Host": "localhost.evil.example"}),
        (403, {"Origin": "http://evil.example"}),
        (403, {"Host": "localhost:8000", "Origin": "http://localhost:9000"}),
        (403, {"Origin": "null"}),
    ]:
        answer = ask(app, "POST", "/tag", json={"text": TEXT}, headers=headers)
        assert answer.status_code == status, headers
    anywhere = create_app(Served(model, "toy"), hosts=None)
    answer = ask(anywhere, "POST", "/tag", json={"text": "a"}, headers={"Host": "tagger.example"})
    assert answer.status_code == 200


def test_the_openapi_description_has_types_and_working_examples(app):
    described = ask(app, "GET", "/openapi.json").json()
    assert described["paths"].keys() == {"/tag", "/labels", "/health", "/metrics"}
    examples = described["components"]["schemas"]["TagRequest"]["examples"]
    assert len(examples) == 3
    for example in examples:
        assert tag(app, **example).status_code == 200
    assert "503" in described["paths"]["/tag"]["post"]["responses"]
    # These pages would load scripts from other sites.
    assert {ask(app, "GET", path).status_code for path in ("/docs", "/redoc")} == {404}


def test_the_page_loads_nothing_from_other_sites(app):
    answer = ask(app, "GET", "/")
    page, headers = render_page("toy")
    assert answer.text == page
    assert "<h1>toy</h1>" in page
    assert not re.findall(r"(?:https?:)?//[\w.]+|\burl\(|@import|\bsrc=", page)
    policy = answer.headers["Content-Security-Policy"]
    assert policy == headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'")
    assert "connect-src 'self';" in policy
    assert "http" not in policy
    assert "unsafe" not in policy
    assert re.findall(r"\bon\w+=|style=", page) == []
    assert "&lt;b&gt;" in render_page("<b>")[0]


def test_the_page_has_the_elements_that_its_script_uses(model):
    page, _ = render_page("toy")
    body, script = page.split("<script>")
    assert set(re.findall(r'find\("([\w-]+)"\)', script)) <= set(re.findall(r'id="([\w-]+)"', body))
    for selector in re.findall(r'querySelector\("\.(\w+)"\)', script):
        assert re.search(rf'class="[^"]*\b{selector}\b', body)
    assert set(re.findall(r'fetch\("(\w+)"', script)) == {"labels", "tag"}
    # Every control is labelled: the text box, the search box, and each label's slider.
    for name in ("text", "filter"):
        assert re.search(rf'<label for="{name}">|<label [^>]*>[^<]*<input [^>]*id="{name}"', body)
    assert "htmlFor = slider.id" in script
    assert label_colours(model.labels) == {name: i for i, name in enumerate(model.labels)}
    assert ".c11 {" in body
    assert ".c12 {" not in body


def test_the_package_contains_the_page():
    (line,) = re.findall(r"^tagger = \[(.*)\]$", (ROOT / "pyproject.toml").read_text(), re.M)
    globs = re.findall(r'"(.*?)"', line)
    packaged = {path for glob in globs for path in (ROOT / "tagger").glob(glob)}
    assert packaged >= set((ROOT / "tagger/integrations/service/templates").iterdir())


def test_there_are_many_malformed_requests():
    names = [attack.name for attack in attacks(random.Random(0), 1.0)]
    assert len(names) == len(set(names)) >= 60
