"""All routes to a tagger accept and refuse the same inputs."""

import numpy as np
import pytest

import tagger
import tagger_onnx
from tagger_texts.inputs import InputError, check_text, only_field, parse_json


@pytest.fixture(scope="module")
def saved(trained):
    return tagger.load(trained / "model.tar.gz")


@pytest.fixture(scope="module")
def exported(path):
    return tagger_onnx.load(path)


@pytest.fixture(params=["saved", "exported"])
def model(request):
    return request.getfixturevalue(request.param)


REFUSED = [
    ({"tokens": "abc"}, "`tokens` must be a list of non-empty tokens; got 'abc'"),
    ({"tokens": ["Ada", 3]}, "`tokens` must be a list of non-empty tokens; got ['Ada', 3]"),
    ({"tokens": ["Ada", None]}, "`tokens` must be a list of non-empty tokens; got ['Ada', None]"),
    ({"tokens": [["Ada"]]}, "`tokens` must be a list of non-empty tokens; got [['Ada']]"),
    ({"tokens": [""]}, "`tokens` must be a list of non-empty tokens; got ['']"),
    ({"tokens": ["a", "\ud800"]}, "`tokens` holds '\\ud800', half of a surrogate pair"),
    ({"inputs": "a \udfff"}, "`inputs` holds '\\udfff', half of a surrogate pair"),
    ({"inputs": 3}, "`inputs` must be a text, or a list of several; got 3"),
    ({"inputs": {"sentence": "Ada"}}, "`inputs` must be a text, or a list of several; got {"),
    ({"inputs": {"Ada", "Grace"}}, "`inputs` must be a text, or a list of several; got {"),
    ({"inputs": b"Ada"}, "`inputs` must be a text, or a list of several; got b'Ada'"),
    (
        {"inputs": ["Ada", None]},
        "`inputs[1]` must be a text or a list of non-empty tokens; got None",
    ),
    ({"inputs": ["Ada", {"tokens": ["a"]}]}, "`inputs[1]` must be a text or a list of non-empty"),
    ({"inputs": ["Ada", [1]]}, "`inputs[1]` must be a list of non-empty tokens; got [1]"),
    (
        {"inputs": ")" * 40_000},
        "`inputs` has 40000 characters in a row without a blank, and at most 500",
    ),
    ({"inputs": ["Ada", "(" * 501]}, "`inputs[1]` has 501 characters in a row without a blank"),
    (
        {"inputs": "Ada", "tokens": ["Ada"]},
        "give either `inputs`, one text or several, or `tokens`",
    ),
    ({}, "give either `inputs`, one text or several, or `tokens`"),
]


@pytest.mark.parametrize(("given", "message"), REFUSED)
def test_both_taggers_refuse_the_same_in_the_same_words(model, given, message):
    with pytest.raises(InputError) as error:
        model.tag(**given)
    assert str(error.value).startswith(message)
    # Callers expect either of them.
    assert isinstance(error.value, ValueError)
    assert isinstance(error.value, TypeError)


TAKEN = [
    "",
    " \t\n",
    "\ufeff",
    "\ufeffAda Lovelace left.\n",
    " Ada \ufeff left ",
    "Ada\x00 left \x00",
    "\x00",
    "a\u2028b\x85c\u200bd",
    "\U0001f600 \u202eadA",
    [],
    [" "],
    ["New York", "a\nb", "\x00", "\ufeff"],
    ("Ada", "left"),
    [np.str_("Ada")],
    ["Ada", "b" * 499 + "cde" * 1000],
]


def test_both_taggers_read_inputs_in_the_same_way(saved, exported):
    for ours, theirs in zip(saved.tag(TAKEN), exported.tag(TAKEN), strict=True):
        assert ours[:4] == theirs[:4]
        assert ours.sentences == theirs.sentences
        for entity in (*ours.entities, *theirs.entities):
            assert ours.text[entity.start : entity.end] == entity.text


def test_a_stream_names_the_input_at_fault(model):
    stream = model.stream(["Ada", "left", "Oslo", None], window=2)
    assert next(stream).tokens == ["Ada"]
    with pytest.raises(InputError, match=r"`inputs\[3\]` must be a text"):
        list(stream)


def test_the_limit_of_a_run_can_be_raised(trained, exported):
    longer = tagger.load(trained / "model.tar.gz", run_characters=600).with_bias(PER=1)
    assert len(longer.tag("a" * 600).tokens) == 1
    with pytest.raises(InputError, match="`text` has 601 characters .* at most 600"):
        longer.split("a" * 601)
    session = exported._session
    unlimited = tagger_onnx.OnnxTagger(session, "tagger", run_characters=None)
    assert len(unlimited.tag("a" * 1000).tokens) == 1


def test_one_field_holds_the_input():
    names = ["sentence", "tokens"]
    assert only_field({"tokens": [], "sentence": None}, names) == "tokens"
    for given, got in [
        ({}, "none"),
        ({"sentence": None}, "none"),
        ({"sentence": "a", "tokens": ["b"]}, "`sentence`, `tokens`"),
        ({"sentence": "a", "id": 7}, "`sentence`, `id`"),
        ({"id": 7}, "`id`"),
    ]:
        with pytest.raises(InputError) as error:
            only_field(given, names)
        assert str(error.value).endswith(f"and no other field; got {got}")
    with pytest.raises(InputError, match="an object has `b` twice; keep one of them"):
        parse_json('{"a": {"b": 1, "b": 1}}')
    with pytest.raises(InputError, match="a number has 5000 digits; write a shorter one"):
        parse_json(f'{{"a": {"9" * 5000}}}')
    assert parse_json("[12, -3, 1.5]") == [12, -3, 1.5]


def test_messages_are_short_and_printable():
    for value in ("\u202e" * 10**6, ["\ud800"] * 10**6, {"a": "b" * 10**6}):
        with pytest.raises(InputError) as error:
            check_text([value], "sentence")
        assert len(str(error.value)) < 300
        assert str(error.value).isascii()
