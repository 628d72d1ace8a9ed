"""Splitting any number of words takes a limited amount of memory."""

from tagger.common import word_splitter


def test_words_beyond_a_number_are_forgotten(monkeypatch):
    monkeypatch.setattr(word_splitter, "MAX_WORDS", 50)
    splitter = word_splitter.WordSplitter("en")
    num_words = len(splitter.pipeline.vocab.strings)
    for number in range(300):
        assert splitter(f"Ada isn't no{number}x.")[0] == ["Ada", "is", "n't", f"no{number}x", "."]
    assert len(splitter.pipeline.vocab.strings) <= num_words + 60
