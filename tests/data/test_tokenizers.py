import logging

import pytest
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Token, Tokenizer

from tagger.data import ColumnDatasetReader
from tagger.data.tokenizers import BlanksTokenizer, tokenizer_of, words_of
from tagger_onnx.inputs import InputError

TEXT = "\ufeff12  Elm St., Salem"


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ("blanks", ["12", "Elm", "St.,", "Salem"]),
        ("punctuation", ["12", "Elm", "St", ".", ",", "Salem"]),
        ("language_rules", ["12", "Elm", "St.", ",", "Salem"]),
        ({"type": "regular_expression", "pattern": r"\w+"}, ["12", "Elm", "St", "Salem"]),
        # From AllenNLP.
        ("letters_digits", ["12", "Elm", "St", ".", ",", "Salem"]),
        ("just_spaces", ["12", "Elm", "St.,", "Salem"]),
    ],
)
def test_words_have_the_right_offsets(params, words):
    found, starts = words_of(Tokenizer.from_params(Params({"t": params}).pop("t")), TEXT)
    assert found == words
    assert [TEXT[start : start + len(word)] for word, start in zip(found, starts)] == words


class Shouting(Tokenizer):
    def tokenize(self, text):
        return [Token(word.upper()) for word in text.split()]


def test_a_tokenizer_that_changes_characters_is_refused():
    with pytest.raises(InputError, match="made 'ADA' of 'Ada left', which does not contain it"):
        words_of(Shouting(), "Ada left")


@pytest.mark.parametrize(
    ("pattern", "message"),
    [("(", "must be a regular expression; got '\\('"), ("x*", "matches an empty text")],
)
def test_patterns_that_give_no_tokens_are_refused(pattern, message):
    with pytest.raises(ConfigurationError, match=message):
        Tokenizer.by_name("regular_expression")(pattern=pattern)


def test_a_pattern_that_takes_too_long_is_aborted(monkeypatch):
    monkeypatch.setattr("tagger.data.tokenizers._TIMEOUT", 0.01)
    tokenizer = Tokenizer.by_name("regular_expression")(pattern=r"(?:(?:a|a)+)+b")
    with pytest.raises(InputError, match=r"took more than 0\.01 s for 'aaaa"):
        words_of(tokenizer, "a" * 40)


def test_the_readers_tokenizer_is_used_unless_a_language_is_named(caplog):
    caplog.set_level(logging.WARNING)
    own = BlanksTokenizer()
    assert tokenizer_of(ColumnDatasetReader(tokenizer=own)) == (own, "en")
    tokenizer, language = tokenizer_of(ColumnDatasetReader(language="fr"))
    assert (str(tokenizer), language) == ("the rules of `fr`", "fr")
    assert not caplog.records
    tokenizer, language = tokenizer_of(ColumnDatasetReader(tokenizer=own), "de")
    assert (str(tokenizer), language) == ("the rules of `de`", "de")
    assert "the rules of `de`; the tagger was trained on text split by blanks" in caplog.text
