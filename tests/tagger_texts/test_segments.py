"""Everything that splits text uses the same words and characters."""

import random
import unicodedata

import pytest

from tagger_texts.segments import PATTERNS, cuts_word, join_words, splitter_at
from tests.tagger_onnx.browser import of_page

#: Text, its words, and its characters; words and characters are divided by blanks.
EXAMPLES = [
    ("Don't pay 1.5 €!", "Don ' t pay 1 . 5 € !", "D o n ' t p a y 1 . 5 € !"),
    ("हिन्दी क्ष।", "हिन्दी क्ष ।", "हि न्दी क्ष ।"),
    ("ที่น้ำ ไป", "ที่ น้ำ ไ ป", "ที่ น้ำ ไ ป"),
    ("مُحَمَّدٌ الكتـاب؟", "مُحَمَّدٌ الكتـاب ؟", "مُ حَ مَّ دٌ ا ل ك ت ـ ا ب ؟"),
    ("می\u200cخواهم", "می\u200cخواهم", "م ی\u200c خ و ا ه م"),
    ('צה"ל שָׁלוֹם צה״ל ג׳', 'צה"ל שָׁלוֹם צה״ל ג׳', 'צ ה " ל שָׁ ל וֹ ם צ ה ״ ל ג ׳'),
    ("他在Google。", "他 在 Google 。", "他 在 G o o g l e 。"),
    ("東京タワーへ々", "東 京 タワー へ 々", "東 京 タ ワ ー へ 々"),
    ("한국 각", "한국 각", "한 국 각"),
    ("မြန်မာ ခန္ဓာ", "မြ န် မာ ခ န္ဓာ", "မြ န် မာ ခ န္ဓာ"),
    ("ខ្មែរ", "ខ្មែ រ", "ខ្មែ រ"),
    ("བོད་ཡིག།", "བོད ་ ཡིག །", "བོ ད ་ ཡི ག །"),
    (
        "Vie\u0323\u0302t co\u0302\u0301",
        "Vie\u0323\u0302t co\u0302\u0301",
        "V i e\u0323\u0302 t c o\u0302\u0301",
    ),
    ("col·laborar na·na", "col·laborar na · na", "c o l · l a b o r a r n a · n a"),
    (
        "👩\u200d👩\u200d👧👍🏽🇩🇪🇫🇷✈\ufe0f#\ufe0f\u20e3",
        "👩\u200d👩\u200d👧 👍🏽 🇩🇪 🇫🇷 ✈\ufe0f #\ufe0f\u20e3",
        None,
    ),
    ("\u200fשלום\u200f\u200b \x00ab\u00adc", "שלום ab\u00adc", "ש ל ו ם a b\u00ad c"),
]


@pytest.mark.parametrize(("text", "words", "characters"), EXAMPLES)
def test_words_and_characters_keep_their_marks_and_joiners(text, words, characters):
    for name, expected in (("words", words), ("characters", characters or words)):
        found = splitter_at(PATTERNS[name])(text)
        assert [token.text for token in found] == expected.split(" ")
        assert all(text.startswith(token.text, token.start) for token in found)


def test_punctuation_is_not_separated_from_its_marks():
    found = splitter_at(PATTERNS["punctuation"])("हिन्दी।#\ufe0f\u20e3, c\u0327a.\u0301b")
    expected = "हिन्दी । #\ufe0f\u20e3 , c\u0327a .\u0301 b"
    assert [token.text for token in found] == expected.split(" ")


@pytest.mark.parametrize(
    ("text", "position", "is_inside"),
    [
        ("Rome", 2, True),
        ("हिन्दी", 1, True),
        ("ที่", 1, True),
        ("北京", 1, False),
        ("北a", 1, False),
        ("a b", 1, False),
    ],
)
def test_a_place_is_inside_a_word_or_not(text, position, is_inside):
    assert cuts_word(text, position) == is_inside


def test_joined_words_are_where_they_start():
    text, starts = join_words(["我", "在", "New", "York", "👍🏽", "한국", "은행", "。"])
    assert text == "我在New York 👍🏽 한국 은행。"
    assert [text[start] for start in starts] == ["我", "在", "N", "Y", "👍", "한", "은", "。"]


def test_the_page_for_browsers_splits_alike(tmp_path):
    draw = random.Random(0)
    assigned = [chr(code) for code in range(0x3400) if unicodedata.category(chr(code)) != "Cn"]
    pool = [
        *assigned,
        *"北京大学ーア🇩🇪👩👨\u200d\u200c\ufe0f🏽한국ᄀ\u1161\u11a8𠮷\u1039\u17d2" * 50,
    ]
    texts = ["".join(draw.choices(pool, k=8)) for _ in range(500)] + [text for text, *_ in EXAMPLES]
    given = {"patterns": PATTERNS, "texts": texts}
    expression = (
        "Object.fromEntries(Object.entries(given.patterns).map(([name, pattern]) => [name, "
        "given.texts.map((text) => splitterOf({ pattern }).split(text).map((t) => t.text))]))"
    )
    for name, found in of_page("splitter.js", "splitterOf", expression, given, tmp_path).items():
        split = splitter_at(PATTERNS[name])
        for text, tokens in zip(texts, found, strict=True):
            assert [token.text for token in split(text)] == tokens, (name, text)
