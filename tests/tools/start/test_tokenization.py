import pytest

from tagger.tools.start.languages import guess_language
from tagger.tools.start.tokenization import find_tokenization

ENGLISH = ["She", "said", "it", "is", "n't", "his", ",", "but", "the", "U.K.", "(", "2", ")"]
FRENCH = ["L'", "avion", "du", "président", "est", "dans", "l'", "ombre", ",", "à", "Paris", "."]
ADDRESS = ["12", "Elm", "St.,", "Salem,", "MA", "01970"]
NOTES = ["Pt.", "on", "ASA", "(", "81mg/d.", ")", ",", "HCTZ", ",", "b.i.d.", ";", "BP", "120/80"]
CLINICAL = ["The", "patient", "has", "no", "beta", "-", "blocker", "5", "mg", "/", "d", "."]


@pytest.mark.parametrize(
    ("tokens", "tokenizer", "language"),
    [
        (ENGLISH, None, "en"),
        (FRENCH, None, "fr"),
        (ADDRESS, {"type": "blanks"}, "en"),
        (CLINICAL, {"type": "punctuation"}, "en"),
        (NOTES, {"type": "regular_expression", "pattern": r"[^\s(),;]+|[(),;]"}, "en"),
    ],
)
def test_the_tokenizer_that_makes_the_tokens_is_found(tokens, tokenizer, language):
    found = find_tokenization([tokens] * 3)
    assert (found.config, found.language) == (tokenizer, language)
    assert list(found.shares.values()) == sorted(found.shares.values(), reverse=True)


def test_a_regular_expression_must_be_worth_it_and_few_frequent_words_are_english():
    found = find_tokenization([ADDRESS] * 10 + [["#", "5"]])
    assert found.config == {"type": "blanks"}
    assert guess_language(["Elm", "St", "Salem"]) == "en"
