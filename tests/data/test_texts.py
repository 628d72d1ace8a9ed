"""Documents are cut where sentences end, in any script."""

import pytest

from tagger.data.texts import TextSplitter
from tagger.data.tokenizers import WordsTokenizer


@pytest.mark.parametrize(
    ("language", "sentences"),
    [
        ("zh", ["我在北京。", "他说：“好。”", "你呢？", "3.5元！", "再见"]),
        ("ja", ["「行く。」", "東京！"]),
        ("hi", ["राम घर है।", "वह गया।", "क्या? ", "हाँ"]),
        ("ar", ["هل أنت بخير؟ ", "نعم. ", "لا۔ ", "هو"]),
        # The rules of these need libraries, sentences do not.
        ("ko", ["한국이다. ", "좋다! ", "3.5원"]),
        ("th", ["สวัสดีครับ ผมชื่อ สมชาย"]),
        ("en", ["He lives in the U.S. Virgin Islands, e.g. there. ", "Ok?"]),
    ],
)
def test_sentences_end_as_their_language_ends_them(language, sentences):
    text = "".join(sentences)
    document = TextSplitter(WordsTokenizer(), language).document(text)
    spans = document.word_spans()
    found = [text[spans[first][0] : spans[last][1]] for first, last in document.sentence_spans()]
    assert found == [sentence.strip() for sentence in sentences]


def test_a_long_run_of_characters_does_not_take_the_time_of_rules():
    text = "(" * 50_000
    assert len(TextSplitter(WordsTokenizer()).document(text).words) == len(text)
