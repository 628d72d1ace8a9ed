"""Predictions of whole documents."""

import math
from dataclasses import replace

import pytest
from allennlp.models import load_archive
from allennlp.predictors import Predictor

import tagger

SENTENCES = [["Lima", ":"], "in Lima  rained"]


@pytest.fixture
def predictor(trained_on_documents):
    return Predictor.from_path(trained_on_documents / "model.tar.gz", import_plugins=False)


def places(prediction):
    return [
        (each["label"], each["text"], each["start"], each["first"], each["last"])
        for each in prediction["entities"]
    ]


def test_sentences_form_a_document_with_offsets_into_the_whole(predictor):
    prediction = predictor.predict_json({"sentences": SENTENCES})
    assert prediction["text"] == "Lima :\nin Lima  rained"
    assert prediction["tokens"] == ["Lima", ":", "in", "Lima", "rained"]
    assert prediction["sentences"] == [[0, 1], [2, 4]]
    assert places(prediction) == [("LOC", "Lima", 0, 0, 0), ("LOC", "Lima", 10, 3, 3)]
    assert all(0 < entity["probability"] <= 1 for entity in prediction["entities"])


def test_the_text_of_a_document_is_split_into_sentences_by_rules_or_lines(
    predictor, trained_on_documents
):
    text = "  Lima : on.\tIn Lima it rained!\n\n \nLima :"
    prediction = predictor.predict_json({"document": text})
    assert prediction["text"] == text
    assert prediction["sentences"] == [[0, 3], [4, 8], [9, 10]]
    for entity in prediction["entities"]:
        assert text[entity["start"] : entity["end"]] == entity["text"]
    archive = load_archive(trained_on_documents / "model.tar.gz")
    predictor = Predictor.from_archive(archive, extra_args={"sentence_borders": "lines"})
    prediction = predictor.predict_json({"document": "Lima : on. In\n\nLima rained\n"})
    assert prediction["sentences"] == [[0, 4], [5, 6]]


def test_long_documents_are_tagged_in_pieces(predictor):
    reader = predictor._dataset_reader
    shorter = reader.with_reading(replace(reader.reading, max_document_tokens=6))
    predictor._dataset_reader = shorter
    sentences = [["Lima", ":"], ["in", "Lima", "rained"]] * 3
    prediction = predictor.predict_json({"sentences": sentences})
    assert len(predictor.instances_of(predictor.read({"sentences": sentences}), True)) == 3
    expected = [(index, index) for index in (0, 3, 5, 8, 10, 13)]
    assert [place[3:] for place in places(prediction)] == expected
    assert len(prediction["tags"]) == 15


def test_a_sentence_tagger_tags_the_sentences_of_a_document_separately(archive):
    predictor = Predictor.from_archive(archive)
    first, second = "Maria Lindqvist left.", ["Lisbon", "rained"]
    document = predictor.predict_json({"sentences": [first, second]})
    alone = [predictor.predict_json(each) for each in ({"sentence": first}, {"tokens": second})]
    assert document["tags"] == alone[0]["tags"] + alone[1]["tags"]
    assert len(document["entities"]) == sum(len(each["entities"]) for each in alone)


def test_a_document_leaks_if_a_sentence_does(archive):
    predictor = Predictor.from_archive(archive, extra_args={"leak_labels": ["PER"]})
    sentences = [["Lima", "said", "yes"], ["Ada", "met", "Paulo", "."], ["no"]]
    alone = predictor.predict_batch_json([{"tokens": sentence} for sentence in sentences])
    together = predictor.predict_json({"sentences": sentences})
    kept = math.prod(1 - each["leak_probability"] for each in alone)
    assert together["leak_probability"] == pytest.approx(1 - kept)
    missed = sum(each["expected_missed"] for each in alone)
    assert together["expected_missed"] == pytest.approx(missed)
    assert missed > 0


def test_single_sentences_are_tagged_with_one_warning(predictor, caplog):
    predictor.predict_json({"sentences": SENTENCES})
    assert "alone" not in caplog.text
    for _ in range(2):
        assert len(predictor.predict_json({"tokens": ["in", "Lima"]})["tags"]) == 2
    assert "sentences" not in predictor.predict("in Lima")
    assert caplog.text.count("gets single sentences") == 1
    assert '{"document": "..."}' in caplog.text


def test_a_document_without_tokens_has_no_tags(predictor):
    for inputs in ({"sentences": []}, {"sentences": [" "]}, {"document": "\n"}):
        prediction = predictor.predict_json(inputs)
        found = [prediction[name] for name in ("tokens", "tags", "entities", "sentences")]
        assert found == [[]] * 4


def test_documents_of_a_file_are_predicted_like_their_sentences(predictor, trained_on_documents):
    instances = list(predictor._dataset_reader.read(trained_on_documents.parent / "documents.txt"))
    of_file = predictor.predict_batch_instance(instances)
    first = predictor.predict_json({"sentences": [["Lima", ":"], ["Lima", "said", "yes"]]})
    assert of_file[0]["sentences"] == first["sentences"]
    assert of_file[0]["tags"] == first["tags"] == ["U-PER", "O", "U-PER", "O", "O"]


def test_a_saved_tagger_tags_documents(trained_on_documents, predictor):
    model = tagger.load(trained_on_documents / "model.tar.gz")
    tagged = model.tag_document(SENTENCES, probabilities=True)
    assert tagged.sentences == [(0, 1), (2, 4)]
    places = [(each.label, each.start, each.first) for each in tagged.entities]
    assert places == [("LOC", 0, 0), ("LOC", 10, 3)]
    assert len(tagged.probabilities) == 5
    wishes = {"leak_labels": ["PER", "LOC"], "candidates": 0.001}
    whole = model.tag_document(SENTENCES, **wishes)
    assert {each[:-1] for each in whole.entities} <= {each[:-1] for each in whole.candidates}
    assert {each.first for each in whole.candidates} & {2, 3, 4}
    assert 0 < whole.leak_probability < whole.expected_missed
    text = "Lima : on. In Lima it rained."
    expected = predictor.predict_json({"document": text})
    assert model.tag_document(text).tags == expected["tags"]
    assert model.tag_document(" ").tokens == model.tag_document([]).tokens == []
    message = r"`sentences\[0\]` must be a text or a list of non-empty tokens; got 3"
    with pytest.raises(TypeError, match=message):
        model.tag_document([3])
