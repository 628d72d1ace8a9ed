import logging

import pytest
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Token, Tokenizer

from tagger.data import ColumnDatasetReader
from tagger.data.tokenizers import BlanksTokenizer, tokenizer_of, words_of
from tagger_texts.inputs import InputError

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


def test_what_is_no_regular_expression_is_refused():
    with pytest.raises(ConfigurationError, match=r"must be a regular expression; got '\('"):
        Tokenizer.by_name("regular_expression")(pattern="(")


@pytest.mark.parametrize(
    "pattern",
    [
        "()" * 430_000,
        "(?:" + "()" * 45 + "){1000}",
        "(?:(?:a{1000}){1000}?){1000}",
        "(?x)(?:a{1000}) # more\n {1000}",
        "a{1000000000}",
        "a{1000}" * 100,
    ],
)
def test_patterns_that_take_long_to_compile_are_refused(pattern):
    with pytest.raises(ConfigurationError, match="`pattern` must have at most 2000 characters"):
        Tokenizer.by_name("regular_expression")(pattern=pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        r"\w*",
        # Searching the empty text for it takes exponential time.
        "(?:^|$)" * 60 + r"\b" + r"|\w+",
        r"(?:\d{1,2}\.){2}\d{4}|[A-Z]{2}\d{2}(?:\s?\d{4}){4,7}|\w{1,1000}",
        "|".join(rf"{first}{last}\." for first in "abcdefgh" for last in "klmnopqrst") + r"|\w+",
    ],
)
def test_ordinary_patterns_are_not_refused_and_empty_matches_are_no_tokens(pattern):
    tokens = Tokenizer.by_name("regular_expression")(pattern=pattern).tokenize("ab  cd")
    assert [token.text for token in tokens] == ["ab", "cd"]


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
