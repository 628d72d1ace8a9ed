import logging

import pytest
from transformers import AutoModelForTokenClassification, pipeline
from transformers.pipelines import TokenClassificationPipeline

from tagger.integrations.huggingface import CrfForTokenClassification, WordPieceTagger
from tests.integrations.huggingface.backbones import load_tokenizer, random_model

TEXT = "ada lovelace,  lived in london."
LONG = " ".join(["ada in london"] * 20)


@pytest.fixture(scope="module")
def saved(backbone, tmp_path_factory):
    """The folder of a model with transitions that affect the result."""
    folder = tmp_path_factory.mktemp("saved")
    random_model(backbone).save_pretrained(folder)
    load_tokenizer(backbone).save_pretrained(folder)
    return folder


@pytest.mark.parametrize("strategy", ["simple", "first", "average", "max"])
def test_the_pipeline_finds_the_entities_of_the_tagger(saved, strategy, caplog):
    with caplog.at_level(logging.WARNING):
        find = pipeline("ner", model=str(saved), aggregation_strategy=strategy)
        found = find([TEXT, "", LONG], batch_size=2)
    assert not caplog.records
    tagged = WordPieceTagger.from_pretrained(saved).tag([TEXT, "", LONG])
    assert found[0]
    for of_text, expected in zip(found, tagged):
        assert [(e["entity_group"], e["word"], e["start"], e["end"]) for e in of_text] == [
            (entity.label, entity.text, entity.start, entity.end) for entity in expected.entities
        ]
        assert [e["score"] for e in of_text] == pytest.approx(
            [entity.probability for entity in expected.entities], rel=1e-4
        )


def test_without_aggregation_each_word_has_its_tag_and_its_marginal_probability(saved):
    find = pipeline("ner", model=str(saved), ignore_labels=[])
    tagged = WordPieceTagger.from_pretrained(saved).tag(TEXT, probabilities=True)
    words = find(TEXT)
    assert [(w["entity"], w["word"], w["index"]) for w in words] == [
        (tag, token, k) for k, (tag, token) in enumerate(zip(tagged.tags, tagged.tokens))
    ]
    for word, row in zip(words, tagged.probabilities):
        assert TEXT[word["start"] : word["end"]] == word["word"]
        assert word["score"] == pytest.approx(row[word["entity"]])
    assert [w["word"] for w in find(TEXT, ignore_labels=["O"])] == [
        token for token, tag in zip(tagged.tokens, tagged.tags) if tag != "O"
    ]


def test_words_are_accepted_as_input(saved):
    find = pipeline("ner", model=str(saved), aggregation_strategy="simple")
    words = ["ada", "lovelace", "london", "ada", "in", "london"] * 2
    expected = WordPieceTagger.from_pretrained(saved).tag(tokens=words).entities
    found = find([words], is_split_into_words=True, delimiter=" | ")[0]
    assert [e["entity_group"] for e in found] == [entity.label for entity in expected]
    assert expected[-1].first > 0
    assert found[-1]["start"] == expected[-1].start + 2 * expected[-1].first
    assert found[-1]["word"] == " | ".join(words)[found[-1]["start"] : found[-1]["end"]]
    with pytest.raises(ValueError, match="`offset_mapping` is for tokenizers that know no offsets"):
        find(TEXT, offset_mapping=[(0, 3)])


def test_plain_labels_are_given_for_each_word(bert):
    model = CrfForTokenClassification.from_backbone(bert, ["NOUN", "VERB"])
    find = pipeline("ner", model=model, tokenizer=load_tokenizer(bert))
    by_word = [(w["entity"], w["word"]) for w in find(TEXT)]
    grouped = [(w["entity_group"], w["word"]) for w in find(TEXT, aggregation_strategy="max")]
    assert len(grouped) == 7
    assert by_word == grouped


def test_a_model_without_a_crf_gets_the_standard_pipeline(bert):
    model = AutoModelForTokenClassification.from_pretrained(bert)
    find = pipeline("ner", model=model, tokenizer=load_tokenizer(bert))
    assert type(find) is TokenClassificationPipeline
    assert find(TEXT)


def test_the_language_decides_how_a_text_is_split(saved):
    text = "ada bzw. london"
    words = {
        language: [
            w["word"]
            for w in pipeline("ner", model=str(saved), ignore_labels=[], language=language)(text)
        ]
        for language in ("en", "de")
    }
    assert words == {"en": ["ada", "bzw", ".", "london"], "de": ["ada", "bzw.", "london"]}
