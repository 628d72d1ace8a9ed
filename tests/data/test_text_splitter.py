"""Documents are split into sentences in any script."""

import pytest

from tagger.data.text_splitter import TextSplitter
from tagger.data.tokenizers import WordsTokenizer


@pytest.mark.parametrize(
    ("language", "sentences"),
    [
        ("zh", ["我在北京。", "他说：“好。”", "你呢？", "3.5元！", "再见"]),
        ("ja", ["「行く。」", "東京！"]),
        ("hi", ["राम घर है।", "वह गया।", "क्या? ", "हाँ"]),
        ("ar", ["هل أنت بخير؟ ", "نعم. ", "لا۔ ", "هو"]),
        # Tokenizing these languages needs extra libraries; finding sentences does not.
        ("ko", ["한국이다. ", "좋다! ", "3.5원"]),
        ("th", ["สวัสดีครับ ผมชื่อ สมชาย"]),
        ("en", ["He lives in the U.S. Virgin Islands, e.g. there. ", "Ok?"]),
    ],
)
def test_sentences_end_by_the_rules_of_their_language(language, sentences):
    text = "".join(sentences)
    document = TextSplitter(WordsTokenizer(), language).document(text)
    spans = document.word_spans()
    found = [text[spans[first][0] : spans[last][1]] for first, last in document.sentence_spans()]
    assert found == [sentence.strip() for sentence in sentences]


def test_a_long_run_of_characters_is_not_tokenized_by_rules():
    text = "(" * 50_000
    assert len(TextSplitter(WordsTokenizer()).document(text).words) == len(text)
