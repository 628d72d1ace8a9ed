import re
from itertools import pairwise

import pytest

from tagger.common.console import topics
from tagger.data.doubts import check_contents
from tagger.data.formats import AnnotatedText, Annotation
from tagger.data.joined_text import join_tokens
from tagger.tools.start.languages import guess_language
from tagger.tools.start.tokenization import find_tokenization

ENGLISH = ["She", "said", "it", "is", "n't", "his", ",", "but", "the", "U.K.", "(", "2", ")"]
ITALIAN = [
    "L'",
    "aereo",
    "del",
    "presidente",
    "è",
    "nell'",
    "ombra",
    "di",
    "una",
    "torre",
    "a",
    "Roma",
    ".",
]
ADDRESS = ["12", "Elm", "St.,", "Salem,", "MA", "01970"]
NOTES = ["Pt.", "on", "ASA", "(", "81mg/d.", ")", ",", "HCTZ", ",", "b.i.d.", ";", "BP", "120/80"]
CLINICAL = ["The", "patient", "has", "no", "beta", "-", "blocker", "5", "mg", "/", "d", "."]


def text_of_tokens(tokens):
    text, places = join_tokens(tokens)
    return AnnotatedText(text, [], places, None, "", {})


def marked(marked_text):
    """Makes a text with entities, which are written in brackets."""
    text, entities = "", []
    for number, piece in enumerate(re.split(r"[\[\]]", marked_text)):
        if number % 2:
            entities.append(Annotation("ID", len(text), len(text) + len(piece)))
        text += piece
    return AnnotatedText(text, entities, None, None, "", {})


@pytest.mark.parametrize(
    ("tokens", "tokenizer", "language"),
    [
        (ENGLISH, None, "en"),
        (ITALIAN, None, "it"),
        (ADDRESS, {"type": "blanks"}, "en"),
        (CLINICAL, {"type": "punctuation"}, "en"),
        (NOTES, {"type": "regular_expression", "pattern": r"[^\s(),;]+|[(),;]"}, "en"),
    ],
)
def test_the_tokenizer_that_makes_the_tokens_is_found(tokens, tokenizer, language):
    found = find_tokenization([text_of_tokens(tokens)] * 3)
    assert (found.config, found.language) == (tokenizer, language)
    assert list(found.shares.values()) == sorted(found.shares.values(), reverse=True)


def test_a_regular_expression_must_be_worth_it_and_few_frequent_words_are_english():
    found = find_tokenization([text_of_tokens(each) for each in [*[ADDRESS] * 10, ["#", "5"]]])
    assert found.config == {"type": "blanks"}
    assert guess_language(["Elm", "St", "Salem"]) == "en"


#: Texts with entities that are glued to something, how many of them the rules of English fit, and the
#: tokenizer that fits them all.
GLUED = [
    ("Paid EUR[500] to Ann Lee.", 0, "words_and_numbers"),
    ("Take [10]km of it.", 1, None),
    ("Take [10]iu twice, and [2]B.", 0, "words_and_numbers"),
    ("Kundennummer[2785708] für [56993]Zinsen", 0, "words_and_numbers"),
    ("Row id_[12]b, file [x]9.", 0, "words_and_numbers"),
    ("Room [B]12 in [Ōsaka]", 1, "words_and_numbers"),
    ("Заказ№а[12]шт от [5]кг", 1, "words_and_numbers"),
    ("他付了EUR[500]。", 0, "words_and_numbers"),
    ("The un[happi]ness of dis[like]d", 0, "characters"),
    ("Dr. [Ann]'s [Rome]-based friend", 2, None),
]


@pytest.mark.parametrize("has_tokens", [False, True])
@pytest.mark.parametrize(("text", "num_by_rules", "name"), GLUED)
def test_the_tokenizer_that_fits_the_entities_is_found_and_their_number_said(
    text, num_by_rules, name, has_tokens
):
    text = marked(text)
    if has_tokens:
        # As Prodigy writes them: entities are tokens or have some.
        at = sorted({0, len(text.text), *(at for _, *span in text.entities for at in span)})
        pieces = [
            (a, b) for first, last in pairwise(at) for a, b in words_at(text.text, first, last)
        ]
        text = text._replace(tokens=pieces)
    found = find_tokenization([text] * 5)
    if name is None:
        assert next(iter(found.shares.values())) >= 0.9
        return
    assert found.config == {"type": name}
    described = "\n".join(topics(found.describe()))
    num = 5 * len(text.entities)
    assert f"entities   splitting by {found.tokenizer} fits {num:,} of {num:,}; " in described
    if not has_tokens:
        by_rules = [found.shares[each] for each in found.shares if each.startswith("the rules of")]
        assert [round(share * num) for share in by_rules] in ([5 * num_by_rules], [])
        assert found.advice is None


def words_at(text, first, last):
    return [
        (first + each.start(), first + each.end())
        for each in re.finditer(r"\w+|[^\w\s]", text[first:last])
    ]


def test_borders_between_letters_and_digits_are_no_doubtful_offsets():
    assert check_contents([marked("Paid EUR[500] for [10]mg")] * 9, "all") == {}
    assert "inside words" in check_contents([marked("See Lon[don Tow]ering")] * 9, "all")[8]


def test_advice_was_tried():
    # Every other entity is in the middle of a word: characters would fit, but make other tokens short.
    texts = [marked("[Ann] saw the [Rome] of [Ada] and un[happi]ness.")] * 9
    found = find_tokenization(texts)
    assert found.tokenizer.__class__.__name__ == "LanguageRulesTokenizer"
    assert found.remedy.startswith("splitting by characters fits 36 of 36;")
    assert "characters 36" in topics(found.describe())[-1]
    # No tokenizer separates a vowel sign from its letter.
    found = find_tokenization([marked("हिन[्द]ी")] * 9)
    assert found.remedy == "no tokenizer that was tried fits more"


def test_converting_is_advised_with_the_share_that_it_gains():
    text = text_of_tokens("我 喜欢 北京大学 的 图书馆 。".split())
    place = text.text.index("北京大学")
    text = text._replace(entities=[Annotation("ORG", place, place + 4)])
    *_, last = topics(find_tokenization([text] * 3).describe())
    assert "convert" in last
    assert last.endswith("it fits 100.0% of the entities")
