"""Emoji of several code points are never cut, whatever splits the text and whatever is beside them."""

import json

import pytest
from allennlp.data import Tokenizer

from tagger.data.text_splitter import TextSplitter
from tagger.data.tokenizers import LanguageRulesTokenizer, RegularExpressionTokenizer, words_of
from tagger.integrations.onnx.export import describe_splitting
from tagger.tools.start.tokenization import marks_expression
from tagger_onnx.splitter import splitter_of
from tagger_texts.segments import PATTERNS
from tests.tagger_onnx.browser import of_page

SKINS = [chr(code) for code in range(0x1F3FB, 0x1F400)]
TAGS = {"England": "gbeng", "Scotland": "gbsct", "Texas": "ustx"}
EMOJI = [
    "👩\u200d👧",
    "👨\u200d👩\u200d👧\u200d👦",
    "👩\u200d❤\ufe0f\u200d💋\u200d👨",
    "❤\ufe0f\u200d🔥",
    "🏳\ufe0f\u200d🌈",
    "🏴\u200d☠\ufe0f",
    "🐦\u200d⬛",
    "🤷🏽\u200d♀\ufe0f",
    "🧑🏻\u200d🤝\u200d🧑🏿",
    "☎\ufe0e",
    *(base + skin for base in "👍☝🧑" for skin in SKINS),
    *(sign + "\ufe0f" for sign in "❤✈©™‼⁉ℹ〰㊗Ⓜ▶"),
    *(key + "\ufe0f\u20e3" for key in "0123456789#*"),
    "5\u20e3",
    *(
        "".join(chr(0x1F1E6 + ord(letter) - ord("A")) for letter in country)
        for country in ("NO", "DE", "US", "UN")
    ),
    *("🏴" + "".join(chr(0xE0000 + ord(each)) for each in tag + "\x7f") for tag in TAGS.values()),
]
#: What stands before and behind: nothing, blanks, letters, digits, marks, exceptions of rules, emoji.
NEIGHBOURS = [
    "",
    " ",
    "a",
    "don't",
    "7",
    "!",
    "(",
    ":-)",
    "É",
    "北",
    "क्ष",
    "😀",
    "👍🏽",
    "🇫🇷",
    "http://a.b/",
]
TEXTS = [
    (f"{before}{emoji}{after}", len(before), len(before) + len(emoji))
    for number, emoji in enumerate(EMOJI)
    for place, before in enumerate(NEIGHBOURS)
    for after in [NEIGHBOURS[(place + number) % len(NEIGHBOURS)]]
]
TOKENIZERS = {
    **{name: Tokenizer.by_name(name)() for name in PATTERNS},
    # Hungarian has a rule for whole tokens, and Chinese has none.
    **{name: LanguageRulesTokenizer(name) for name in ("en", "de", "hu", "xx", "zh")},
}


def borders(tokens):
    return {place for word, start in tokens for place in (start, start + len(word))}


@pytest.mark.parametrize("name", TOKENIZERS)
def test_no_tokenizer_cuts_an_emoji(name):
    for text, start, end in TEXTS:
        found = borders(zip(*words_of(TOKENIZERS[name], text)))
        assert not found.intersection(range(start + 1, end)), (text, start, end)


@pytest.mark.parametrize("name", ["en", "de", "hu", "xx", "zh"])
def test_rules_of_languages_make_each_emoji_a_token(name):
    for text, start, end in TEXTS:
        assert {start, end} <= borders(zip(*words_of(TOKENIZERS[name], text))), text


def test_sentences_of_documents_cut_no_emoji():
    splitter = TextSplitter(TOKENIZERS["en"])
    for text, start, end in TEXTS:
        found = splitter.document(f"So. {text}! Then.")
        assert not borders(zip(found.words, found.starts)).intersection(range(start + 5, end + 4))


@pytest.mark.parametrize("name", [*PATTERNS, "en", "hu"])
def test_exported_taggers_split_emoji_alike(name, tmp_path):
    splitting = json.loads(json.dumps(describe_splitting(TOKENIZERS[name])))
    split = splitter_of(splitting)
    # Each emoji with some of the neighbours.
    texts = [text for text, *_ in TEXTS[::7]]
    expected = [words_of(TOKENIZERS[name], text)[0] for text in texts]
    assert [[token.text for token in split(text)] for text in texts] == expected
    given = {"splitting": splitting, "texts": texts}
    expression = (
        "((splitter) => given.texts.map((text) => splitter.split(text).map((t) => t.text)))"
        "(splitterOf(given.splitting))"
    )
    assert of_page("splitter.js", "splitterOf", expression, given, tmp_path) == expected


@pytest.mark.parametrize("signs", ["".join(EMOJI), "#*", "#*\ufe0f\u20e3\u200d", "❤#", "!()"])
def test_the_expression_that_start_proposes_cuts_no_emoji(signs):
    # Many corpora of tweets were split by code points.
    tokenizer = RegularExpressionTokenizer(marks_expression([[sign] for sign in set(signs)]))
    for text, start, end in TEXTS:
        found = borders(zip(*words_of(tokenizer, text)))
        assert not found.intersection(range(start + 1, end)), (text, start, end)


def test_the_expression_separates_signs():
    split = RegularExpressionTokenizer(marks_expression([["#"], ["("]])).tokenize
    assert [token.text for token in split("a#b (#\ufe0f\u20e3c")] == [*"a#b(", "#\ufe0f\u20e3", "c"]
    split = RegularExpressionTokenizer(marks_expression([["😀"], ["!"]])).tokenize
    assert [token.text for token in split("a😀b!👍🏽🇳🇴")] == [*"a😀b!", "👍🏽", "🇳🇴"]
