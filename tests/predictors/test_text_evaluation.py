"""Evaluation on raw text measures what the tagger does on raw text."""

from unittest.mock import Mock

import pytest
from allennlp.common.checks import ConfigurationError
from allennlp.models import load_archive

import tagger
from tagger.predictors.saved_tagger import SavedTagger
from tagger.predictors.text_evaluation import GoldText, evaluate_joined_tokens, evaluate_texts
from tagger_texts.prediction import Entity
from tagger_texts.tagged_text import TaggedText

FILE = "data/toy/test.txt"
BLANKS = '{"dataset_reader.tokenizer": {"type": "blanks"}}'


@pytest.fixture
def instances(archive, at_root):
    return list(archive.validation_dataset_reader.read(FILE))


def test_if_text_is_split_like_the_tokens_the_metrics_equal_those_of_tokens(archive, instances):
    archive.model.eval()
    archive.model.get_metrics(reset=True)
    archive.model.forward_on_instances(instances)
    of_tokens = archive.model.get_metrics(reset=True)
    of_text = evaluate_joined_tokens(SavedTagger.of(archive, "toy"), instances)
    for name in ("precision-overall", "recall-overall", "f1-measure-PER", "num-gold-LOC"):
        assert of_text[name] == pytest.approx(of_tokens[name], abs=1e-6)


def test_the_entities_of_a_document_are_compared_by_document_offsets(trained_on_documents):
    archive = load_archive(trained_on_documents / "model.tar.gz")
    file = trained_on_documents.parent / "documents.txt"
    model = SavedTagger.of(archive, "documents")
    of_text = evaluate_joined_tokens(model, archive.validation_dataset_reader.read(file))
    assert of_text["num-gold-overall"] == of_text["num-predicted-overall"] > 1
    assert of_text["f1-measure-overall"] == 1


def test_a_mismatched_tokenizer_lowers_f1(trained, instances):
    glued, fitting = (
        SavedTagger.of(load_archive(trained / "model.tar.gz", overrides=overrides), "toy")
        for overrides in (BLANKS, "")
    )
    f1s = [
        evaluate_joined_tokens(model, instances)["f1-measure-overall"] for model in (glued, fitting)
    ]
    assert f1s[0] < f1s[1] - 0.05


def test_every_route_uses_the_archives_tokenizer(trained):
    archive = load_archive(trained / "model.tar.gz", overrides=BLANKS)
    model = SavedTagger.of(archive, "toy")
    assert model.tag("in  Lisbon, today.").tokens == ["in", "Lisbon,", "today."]
    assert model.tag_document("in Lisbon, today.").tokens == ["in", "Lisbon,", "today."]
    assert model.split("in Lisbon.").words == ["in", "Lisbon."]
    assert str(model.tokenizer) == "blanks"
    assert tagger.load(trained / "model.tar.gz").tag("in Lisbon.").tokens == ["in", "Lisbon", "."]


def test_plain_labels_are_refused(archive, instances):
    archive.model.tag_encoding = None
    with pytest.raises(ConfigurationError, match="spell no entities"):
        evaluate_joined_tokens(SavedTagger.of(archive, "toy"), instances)


def finder(*places):
    """A tagger that finds the same entities in every text."""
    entities = [Entity(label, "", start, end, 0, 0, 1.0) for label, start, end in places]
    tag = Mock(
        side_effect=lambda texts: [TaggedText(each, [], [], [], entities, []) for each in texts]
    )
    found = Mock(labels=("LOC", "PER"), tag=tag)
    found.model.head.describe.return_value.overlaps = False
    return found


def test_entities_and_characters_are_compared_by_label():
    # The text is `Ada Byron met Lisbon and Oslo.`
    places = {("PER", 0, 9), ("LOC", 14, 20), ("LOC", 25, 29)}
    found = finder(("PER", 4, 9), ("LOC", 14, 20), ("PER", 25, 29))
    metrics = evaluate_texts(found, [GoldText(["Ada Byron met Lisbon and Oslo."], places)] * 3)
    expected = {
        "num-gold-LOC": 6,
        "num-predicted-PER": 6,
        "recall-LOC": 0.5,
        "f1-measure-overall": 1 / 3,
        "character-recall-PER": 5 / 9,
        "character-precision-PER": 5 / 9,
        "character-num-gold-LOC": 30,
        "exact-f1-measure-overall": 2 / 3,
        "partial-f1-measure-overall": 2.5 / 3,
        "type-f1-measure-overall": 2 / 3,
    }
    assert {name: metrics[name] for name in expected} == pytest.approx(expected)
