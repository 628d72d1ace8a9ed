"""Using a trained tagger from Python."""

import gc
import pickle
import re
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import Mock

import pytest
from allennlp.commands.train import train_model
from allennlp.common.checks import ConfigurationError
from allennlp.models import load_archive
from allennlp.predictors import Predictor

import tagger
import tagger_onnx
from tagger.integrations.onnx.commands.export import export
from tagger.predictors.saved_tagger import SavedTagger
from tests.conftest import ROOT
from tests.models.test_multi_label_tagger import LEXICON, params_of, write_corpus
from tests.pages import PAGES
from tests.routes import ONNX_TOLERANCE

TEXT = "Ada  Lovelace met Mr. Babbage in London."
TEXTS = [TEXT, "Grace Mwangi works for <Acme & Sons> in Oslo.", "Maria left."]


@pytest.fixture(scope="module")
def predictor(trained):
    return Predictor.from_path(trained / "model.tar.gz", import_plugins=False)


@pytest.fixture(scope="module")
def several_labels(tmp_path_factory):
    """A tagger for tokens with several labels."""
    folder = tmp_path_factory.mktemp("several_labels")
    for name in ("train.txt", "dev.txt"):
        write_corpus(folder / name, LEXICON)
    train_model(params_of(folder, num_epochs=2), str(folder / "run"))
    return tagger.load(folder / "run")


def test_a_text_passes_the_stations_of_the_page_in_their_order(model):
    section = PAGES["CONTRIBUTING.md"].partition("## How a text becomes an answer\n")[2]
    rows = re.findall(
        r"^\| `(.+)`: `(?:\w+\.)?(\w+)` \|", section.partition("\n## ")[0], re.MULTILINE
    )
    assert 0 < len(rows) <= 12
    calls, stations = [], {(str(ROOT / path), name) for path, name in rows}

    def record(frame, event, _):
        call = frame.f_code.co_filename, frame.f_code.co_name
        if event == "call" and call in stations and call not in calls:
            calls.append(call)

    before = sys.getprofile()
    # Batches are predicted in threads.
    threading.setprofile(record)
    sys.setprofile(record)
    try:
        model.tag(TEXT)
    finally:
        sys.setprofile(before)
        threading.setprofile(None)
    assert calls == [(str(ROOT / path), name) for path, name in rows]


def test_a_long_text_is_tagged_sentence_by_sentence(trained, tmp_path):
    lines = ["Ada Lovelace met Mr. Babbage.", "Grace Mwangi works in Oslo.", "", "Maria left."]
    overrides = '{"dataset_reader.max_sentence_tokens": 8}'
    archive = load_archive(trained / "model.tar.gz", overrides=overrides)
    model = SavedTagger.of(archive, "toy")
    given = {"leak_labels": ["PER"], "candidates": 0.01, "probabilities": True}
    text = "\n".join(lines)
    tagged = model.tag(text, **given)
    alone = [model.tag(line, **given) for line in lines]
    assert tagged.text == text
    assert tagged.tags == [tag for each in alone for tag in each.tags]
    assert len(tagged.probabilities) == len(tagged.tokens)
    found, expected = (
        [
            (entity.label, entity.text, entity.probability)
            for each in own
            for entity in each.entities
        ]
        for own in ([tagged], alone)
    )
    assert found == expected != []
    for entity in (*tagged.entities, *tagged.candidates):
        assert text[entity.start : entity.end] == entity.text
        assert tagged.tokens[entity.first] == entity.text.split()[0]
    expected = sum(each.expected_missed for each in alone)
    assert tagged.expected_missed == pytest.approx(expected)
    export(archive, tmp_path / "tagger.onnx")
    exported = tagger_onnx.load(tmp_path / "tagger.onnx").tag(text, leak_labels=["PER"])
    assert (exported.tokens, exported.tags) == (tagged.tokens, tagged.tags)
    places = [each[:-1] for each in tagged.entities]
    assert [each[:-1] for each in exported.entities] == places
    assert exported.leak_probability == pytest.approx(tagged.leak_probability, abs=ONNX_TOLERANCE)
    # A list of its tokens counts as one sentence.
    assert len(model.tag(tokens=tagged.tokens).tags) == len(tagged.tags)


def entities_of(prediction):
    return [tuple(map(each.get, tagger.Entity._fields)) for each in prediction["entities"]]


def test_it_finds_what_the_predictor_finds(model, predictor):
    predictions = predictor.predict_batch_json([{"sentence": text} for text in TEXTS])
    results = model.tag(TEXTS)
    assert [result.entities for result in results] == list(map(entities_of, predictions))
    for name in ("text", "tokens", "tags"):
        assert [getattr(each, name) for each in results] == [each[name] for each in predictions]
    entity = results[0].entities[0]
    assert TEXT[entity.start : entity.end] == entity.text


def assert_alike(given, expected):
    """Compares two results up to rounding, because the sums of a row depend on its batch."""
    assert given._replace(entities=[]) == expected._replace(entities=[])
    ours, theirs = given.entities, expected.entities
    assert [each[:-1] for each in ours] == [each[:-1] for each in theirs]
    probabilities = [each.probability for each in theirs]
    assert [each.probability for each in ours] == pytest.approx(probabilities)


def test_texts_tokens_and_streams_are_tagged_alike(model):
    one = model.tag(TEXT)
    assert_alike(model.tag([TEXT, one.tokens])[0], one)
    assert_alike(model.tag(tokens=one.tokens), model.tag([TEXT, one.tokens])[1])
    assert model.tag(tokens=["New York"]).tokens == ["New York"]
    read = []
    stream = model.stream((read.append(text) or text for text in TEXTS * 3), window=4)
    assert read == []
    streamed = [next(stream)]
    assert read == (TEXTS * 3)[:4]
    streamed += stream
    for given, expected in zip(streamed, model.tag(TEXTS * 3), strict=True):
        assert_alike(given, expected)
    assert model.tag([]) == []
    split = model.split(TEXT)
    assert split.words == one.tokens
    places = zip(split.words, split.starts)
    assert [TEXT[start : start + len(word)] for word, start in places] == split.words
    assert model.tag(split) == one
    assert [each.text for each in model.tag([split, model.split(" ")])] == [TEXT, " "]


def test_biases_list_all_labels(model):
    assert model.labels == ["EVENT", "LOC", "ORG", "PER"]
    assert model.biases == {"EVENT": 0, "LOC": 0, "ORG": 0, "PER": 0}
    both = model.with_bias(LOC=1.5).with_bias(PER=-1)
    assert both.biases == {**model.biases, "LOC": 1.5, "PER": -1}
    assert model.finds_entities


def test_probabilities_leaks_and_candidates_come_on_request(model, predictor, trained):
    result = model.tag(TEXT)
    assert (result.leak_probability, result.expected_missed, result.candidates) == (None, None, [])
    assert result.probabilities == []
    of_tokens = model.tag(TEXT, probabilities=True).probabilities
    assert [max(each, key=each.get) for each in of_tokens] == result.tags
    assert all(sum(each.values()) == pytest.approx(1) for each in of_tokens)
    biased = model.with_bias(PER=-100.0, LOC=-100.0)
    wishes = {"leak_labels": ["PER", "LOC"], "candidates": 0.001}
    found, nothing = model.tag([TEXT, " "], **wishes)
    missing = biased.tag(TEXT, **wishes)
    assert (nothing.leak_probability, nothing.expected_missed, nothing.candidates) == (0, 0, [])
    # With nothing predicted, all expected entities are missed.
    assert found.leak_probability < missing.leak_probability
    entities = [each for each in found.entities if each.label in ("PER", "LOC")]
    difference = missing.expected_missed - found.expected_missed
    assert difference == pytest.approx(sum(each.probability for each in entities), abs=1e-5)
    assert missing.expected_missed > 1
    # Candidates do not depend on the prediction.
    assert len(found.candidates) > len(found.entities)
    assert [each[:-1] for each in found.candidates] == [each[:-1] for each in missing.candidates]
    assert {each[:-1] for each in found.entities} <= {each[:-1] for each in found.candidates}
    assert all(each.text == TEXT[each.start : each.end] for each in found.candidates)
    # The original tagger is unchanged.
    assert model.tag(TEXT) == result
    assert model.tag(TEXT, leak_labels=["ORG"]).candidates == []
    asked = tagger.load(trained).predictor
    asked = type(asked)(asked.model, asked.dataset_reader, **wishes)
    given = asked.predict(TEXT)
    assert given["leak_probability"] == pytest.approx(found.leak_probability)
    assert entities_of({"entities": given["candidates"]}) == found.candidates


def test_biases_and_thresholds_change_a_copy_with_the_same_weights(model):
    def labels_of(model):
        return {entity.label for result in model.tag(TEXTS) for entity in result.entities}

    before = model.tag(TEXTS)
    without = model.with_bias({"PER": -100.0}).with_bias(LOC=-100.0)
    assert {"PER", "LOC"} <= labels_of(model)
    for changed in (without, model.with_thresholds(PER=1.0, LOC=1.0)):
        assert not {"PER", "LOC"} & labels_of(changed)
    assert model.tag(TEXTS) == before
    assert "{'PER': -100.0, 'LOC': -100.0}" in repr(without)
    assert "bias" not in repr(model)
    assert "model.tar.gz: EVENT, LOC, ORG, PER; " in repr(model)
    decoder = model.with_bias(PER=0.5).with_thresholds(LOC=0.25).model.head.decoder
    assert (decoder.decode_bias, decoder.entity_thresholds) == ({"PER": 0.5}, {"LOC": 0.25})
    weights, shared = model.model.parameters(), without.model.parameters()
    assert all(mine is theirs for mine, theirs in zip(weights, shared))


def test_tokens_may_have_several_labels(several_labels):
    assert several_labels.biases == {}
    assert not several_labels.finds_entities
    result = several_labels.tag("poet sees")
    assert result.entities == result.tags == []
    assert len(result.labels) == 2
    all_labels = several_labels.with_thresholds(dict.fromkeys(several_labels.labels, 0.0))
    assert sorted(all_labels.tag("poet").labels[0]) == several_labels.labels
    assert several_labels.tag("poet sees") == result
    own, crf = several_labels.labels[0], "needs a tagger with the head `crf`, `soft"
    for call, message in (
        (lambda: several_labels.tag("poet", leak_labels=["PER"]), crf),
        (lambda: several_labels.tag("poet", candidates=0.1), crf),
        (lambda: several_labels.with_bias(PER=1), "use `with_thresholds`"),
        (lambda: several_labels.with_thresholds(PRE=0.5), "no label 'PRE'"),
        (lambda: several_labels.with_thresholds({own: 2}), "from 0 to 1; got 2"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda model: model.tag("a", leak_labels="PER"), "got 'PER'; put it in a list"),
        (lambda model: model.tag("a", leak_labels=["PRE"]), "`leak_labels` .*PER"),
        (lambda model: model.tag("a", candidates=2), "above 0 and at most 1; got 2"),
        (lambda model: model.with_bias(PRE=1), "did you mean `PER`"),
        (lambda model: model.with_thresholds(PER=3), "from 0 to 1"),
    ],
)
def test_invalid_calls_are_refused(call, message, model):
    with pytest.raises(TypeError if "list" in message else ConfigurationError, match=message):
        call(model)


def test_only_archives_of_sequence_taggers_are_loaded(trained, tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match="no.tar.gz"):
        tagger.load(tmp_path / "no.tar.gz")
    monkeypatch.setattr("tagger.predictors.saved_tagger.TaggingModel", int)
    with pytest.raises(
        ConfigurationError, match="expected a `sequence_tagger`.* got a `sequence_tag"
    ):
        tagger.load(trained / "model.tar.gz")


def test_notebooks_show_the_unchanged_text_with_entities_marked(model, several_labels):
    result = model.tag("<Maria & Co> left  Oslo")
    entity = tagger.Entity("PER", "Maria", 1, 6, 1, 1, 0.875)
    shown = result._replace(entities=[entity])._repr_html_()
    assert ">&lt;<mark" in shown
    assert "</mark> &amp; Co&gt; left  Oslo<" in shown
    assert ">Maria <small" in shown
    assert '<small dir="ltr" style="opacity: .7"><bdi>PER</bdi> 88 %</small>' in shown
    assert shown.startswith('<div dir="auto"')
    labels = several_labels.tag("poet sees")._replace(labels=[["A", "B<"], []])._repr_html_()
    assert ">A, B&lt;</bdi></small></mark> sees</div>" in labels
    assert model._repr_html_().startswith("<code>&lt;SavedTagger ")


def test_threads_with_different_extras_get_what_they_get_alone(model, monkeypatch):
    texts = ["Ada Lovelace left London .", "Grace Mwangi works for Nordbank in Oslo ."]
    calls = [
        {},
        {"probabilities": True},
        {"candidates": 0.01},
        {"leak_labels": ["PER"]},
        {"candidates": 0.1, "probabilities": True},
    ]
    alone = [model.tag(texts, **extras) for extras in calls]
    biased = model.with_bias(LOC=-100)
    assert (wanted := biased.tag(texts, candidates=0.01)) != alone[2]
    start = threading.Barrier(len(calls) + 1)

    def tag(model, extras):
        start.wait(20)
        return [model.tag(texts, **extras) for _ in range(5)]

    with ThreadPoolExecutor(len(calls) + 1) as pool:
        of_threads = [pool.submit(tag, model, extras) for extras in calls]
        of_copy = pool.submit(tag, biased, {"candidates": 0.01})
        for thread, expected in zip(of_threads, alone):
            assert thread.result() == [expected] * 5
        assert of_copy.result() == [wanted] * 5


def test_what_a_call_asks_for_is_kept_nowhere(model):
    def states():
        return [
            dict(vars(each)) for each in (model, model.predictor, model.model, model.model.head)
        ]

    before = states()
    model.tag(TEXTS, probabilities=True, leak_labels=["PER"], candidates=0.01)
    assert states() == before


def test_making_a_tagger_leaves_the_garbage_collector_alone(trained, monkeypatch):
    freeze = Mock()
    monkeypatch.setattr(gc, "freeze", freeze)
    tagger.load(trained / "model.tar.gz")
    freeze.assert_not_called()


def test_a_tagger_can_be_pickled(trained):
    loaded = tagger.load(trained / "model.tar.gz")
    text = "Maria Lindqvist met Paulo Ferraz in Lisbon."
    wanted = loaded.tag(text, probabilities=True)
    unpickled = pickle.loads(pickle.dumps(loaded))
    assert unpickled.tag(text, probabilities=True) == wanted
    biased = pickle.loads(pickle.dumps(loaded.with_bias(PER=-20)))
    assert "PER" not in {entity.label for entity in biased.tag(text).entities}
