import json

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.predictors import Predictor

from tagger.data.text_splitter import TextSplitter
from tagger.data.tokenizers import LanguageRulesTokenizer
from tagger.modules import SoftmaxHead
from tagger.predictors import SequenceTaggerPredictor


@pytest.fixture
def predictor(archive):
    return Predictor.from_archive(archive)


@pytest.mark.parametrize("format", ["{}\n", '{{"sentence": "{}"}}'])
def test_raw_text_is_tokenized_and_tokens_have_offsets(predictor, format):
    line = format.format("  Ada  Lovelace met Mr. Babbage,   in London.")
    prediction = predictor.predict_json(predictor.load_line(line))
    assert prediction["tokens"][:6] == ["Ada", "Lovelace", "met", "Mr.", "Babbage", ","]
    assert len(prediction["tags"]) == len(prediction["tokens"])
    assert json.loads(predictor.dump_line(prediction)) == prediction


def test_leaks_of_a_sentence_are_bitwise_the_same_in_any_batch(archive):
    labels = ["PER", "LOC", "ORG"]
    predictor = Predictor.from_archive(archive, extra_args={"leak_labels": labels, "plain": True})
    words = ["Ada", "met", "Bo", "in", "Lisbon", "with", "Carl", "of", "Acme", "near", "the"]
    texts = [
        {"sentence": " ".join(words[(n + k) % len(words)] for k in range(n))} for n in range(1, 90)
    ]
    together = predictor.predict_batch_json(texts)
    for text, found in zip(texts, together):
        (alone,) = predictor.predict_batch_json([text])
        names = ("expected_missed", "leak_probability")
        assert [alone[name] for name in names] == [found[name] for name in names]


@pytest.fixture
def fixed_tags(archive, monkeypatch):
    """Makes the model predict the given tags and some probability for their entities."""

    def fix(*rows):
        tags = torch.tensor([[archive.model.tags.index(tag) for tag in row] for row in rows])
        monkeypatch.setattr(archive.model.head, "best_tags", lambda emissions, mask: tags)

    return fix


def without_probabilities(prediction):
    entities = [dict(entity) for entity in prediction["entities"]]
    assert all(0 <= entity.pop("probability") <= 1 for entity in entities)
    return entities


def test_entities_have_label_text_and_offsets_in_the_text_or_the_joined_tokens(
    predictor, fixed_tags
):
    fixed_tags(["B-PER", "L-PER", "O", "O", "U-LOC"])
    assert without_probabilities(predictor.predict("Ada  Lovelace, of London")) == [
        {"label": "PER", "text": "Ada  Lovelace", "start": 0, "end": 13, "first": 0, "last": 1},
        {"label": "LOC", "text": "London", "start": 18, "end": 24, "first": 4, "last": 4},
    ]
    fixed_tags(["O", "U-LOC", "O"])
    prediction = predictor.predict_json({"tokens": ["in", "New York", "."]})
    assert (prediction["text"], prediction["tokens"]) == ("in New York .", ["in", "New York", "."])
    assert without_probabilities(prediction) == [
        {"label": "LOC", "text": "New York", "start": 3, "end": 11, "first": 1, "last": 1}
    ]


def test_a_batch_mixes_inputs_and_keeps_their_order(predictor):
    inputs = [{"sentence": "One day in May"}, {"tokens": ["Two"]}, {"sentence": "Three, four"}]
    predictions = predictor.predict_batch_json(inputs)
    assert [len(p["tokens"]) for p in predictions] == [4, 1, 3]
    assert predictions == [predictor.predict_json(json_dict) for json_dict in inputs]


def test_instances_of_the_dataset_reader_are_tagged(predictor, at_root):
    instances = list(predictor._dataset_reader.read("data/toy/test.txt"))
    predictions = predictor.predict_batch_instance(instances)
    alone = predictor.predict_instance(instances[0])
    for entity in [*predictions[0]["entities"], *alone["entities"]]:
        # The last digit of a sum depends on the batch.
        entity["probability"] = pytest.approx(entity["probability"])
    assert predictions[0] == alone
    for instance, prediction in zip(instances, predictions):
        assert prediction["tokens"] == [token.text for token in instance["tokens"]]
        assert len(prediction["tags"]) == len(prediction["tokens"])


def test_entities_have_probabilities_and_tokens_have_tag_marginals_on_request(archive):
    text = "Maria Lindqvist met Paulo Ferraz in Lisbon."
    plain = Predictor.from_archive(archive).predict(text)
    assert "probabilities" not in plain
    assert all(0 < entity["probability"] <= 1 for entity in plain["entities"])
    predictor = Predictor.from_archive(archive, extra_args={"probabilities": True})
    prediction = predictor.predict(text)
    assert json.loads(predictor.dump_line(prediction)) == prediction
    assert prediction["entities"] == plain["entities"]
    assert plain["entities"]
    of_tokens = prediction["probabilities"]
    assert [sum(of_tags.values()) for of_tags in of_tokens] == pytest.approx([1] * 8, abs=1e-5)
    for entity in prediction["entities"]:
        # An entity is at most as probable as each of its tags.
        for token in range(entity["first"], entity["last"] + 1):
            of_its_tag = of_tokens[token][prediction["tags"][token]]
            assert entity["probability"] <= of_its_tag + 1e-5


def test_plain_labels_have_no_entities(predictor, archive):
    head = SoftmaxHead(archive.model.vocab, tag_encoding=None)
    archive.model.head, archive.model.tag_encoding = head, None
    prediction = predictor.predict("Go")
    assert len(prediction["tags"]) == 1
    assert "entities" not in prediction


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, "must have exactly one of `sentence`, `tokens`, `document`, `sentences`, .* got none"),
        ({"sentence": "a", "tokens": ["b"]}, "got `sentence`, `tokens`"),
        ({"tokens": ["a", ""]}, "`tokens` must be a list of non-empty tokens"),
        ({"tokens": ["a", None]}, "`tokens` must be a list of non-empty tokens"),
        ({"sentence": 3}, "`sentence` must be a text; got 3"),
        ({"sentence": "a \udfff"}, r"`sentence` holds '\\udfff', half of a surrogate pair"),
        ({"sentence": ")" * 501}, "`sentence` has 501 characters in a row without a blank"),
        ({"document": ")" * 501}, "`document` has 501 characters in a row without a blank"),
        ({"sentences": ["a", "b" * 501]}, r"`sentences\[1\]` has 501 characters in a row"),
        ({"sentences": "Lima"}, "`sentences` must be a list"),
        ({"sentences": [["Lima", 3]]}, r"`sentences\[0\]` must be a (text|list) "),
        ({"document": ["Lima"]}, "`document` must be a text"),
    ],
)
def test_invalid_inputs_are_refused(predictor, inputs, message):
    with pytest.raises(ValueError, match=message):
        predictor.predict_json(inputs)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"sentence": "missing quote}', "starts with a brace but is no JSON object"),
        ('["a"]', "is a JSON list, not an object; give plain text, .* set `plain`"),
        (" [1] \n", "is a JSON list, not an object"),
        ('{"sentence": "a", "sentence": "b"}', "an object has `sentence` twice; keep one of them"),
    ],
)
def test_a_malformed_json_line_is_refused_unless_all_lines_are_text(archive, line, message):
    with pytest.raises(ValueError, match=message):
        Predictor.from_archive(archive).load_line(line)
    plain = Predictor.from_archive(archive, extra_args={"plain": True})
    for text in (line, '{"sentence": "Ada"}'):
        assert plain.load_line(text) == {"sentence": text.rstrip("\n")}


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ('\ufeff {"sentence": " Ada"} \n', " Ada"),
        (" Ada left\t \r\n", " Ada left\t "),
        *((line, line) for line in ("[1] Ada et al.", '"Quoted," she said', '"Ada met Charles"')),
        *((line, line) for line in ("1996", "null", "[" * 100_000)),
    ],
)
def test_a_line_is_a_json_object_or_text_without_its_line_end(predictor, line, text):
    assert predictor.load_line(line) == {"sentence": text}


def test_a_byte_order_mark_belongs_to_the_text_but_to_no_token(predictor):
    inputs = [predictor.load_line("\ufeffAda left.\n"), {"document": "\ufeffAda left."}]
    for prediction in predictor.predict_batch_json(inputs):
        assert prediction["text"] == "\ufeffAda left."
        assert prediction["tokens"] == ["Ada", "left", "."]
        for entity in prediction["entities"]:
            assert prediction["text"][entity["start"] : entity["end"]] == entity["text"]
    instance = predictor._json_to_instance({"sentence": "\ufeffAda  left."})
    tokens = [(token.text, token.idx, token.idx_end) for token in instance["tokens"]]
    assert tokens == [("Ada", 1, 4), ("left", 6, 10), (".", 10, 11)]


@pytest.mark.parametrize(
    "inputs", [{"sentence": ""}, {"sentence": " \t"}, {"tokens": []}, {"sentence": "\ufeff"}]
)
def test_a_text_without_tokens_has_no_tags(predictor, inputs):
    with_tokens = {"tokens": ["Ada"], "sentence": None}
    nothing, something = predictor.predict_batch_json([inputs, with_tokens])
    text = inputs.get("sentence", "")
    assert nothing == {"text": text, "tokens": [], "tags": [], "entities": []}
    assert something["tokens"] == ["Ada"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"run_characters": 0}, "`run_characters` must be a whole number of at least 1; got 0"),
        ({"batch_tokens": 0}, "`batch_tokens` must be a whole number of at least 1; got 0"),
        ({"sentence_borders": "words"}, "one of rules, lines; got 'words'"),
        *(
            ({"language": language}, "`language` must be the code of a language")
            for language in ["xx1", "", "examples", 3, "../en"]
        ),
    ],
)
def test_arguments_out_of_range_are_refused(archive, arguments, message):
    with pytest.raises(ConfigurationError, match=message):
        SequenceTaggerPredictor(archive.model, archive.validation_dataset_reader, **arguments)


def test_the_limit_on_runs_of_characters_can_be_raised_and_depends_on_the_tokenizer(archive):
    predictor = Predictor.from_archive(archive, extra_args={"run_characters": 1000})
    assert len(predictor.predict("a" * 1000)["tokens"]) == 1
    with pytest.raises(ValueError, match="1001 characters .* at most 1000"):
        predictor.predict("a" * 1001)
    assert TextSplitter(LanguageRulesTokenizer("zh")).run_characters is None
