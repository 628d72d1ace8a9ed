"""The tags of a vocabulary, and the bounded vocabulary of the word splitter."""

import pytest
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary

from tagger.common import word_splitter
from tagger.common.vocabulary import tags_in_order


def test_tags_are_listed_in_the_order_of_their_indices():
    vocab = Vocabulary({"labels": {"O": 1, "B-PER": 3, "I-PER": 2}})
    vocab.add_token_to_namespace("B-LOC", "labels")
    assert tags_in_order(vocab, "labels") == ["B-PER", "I-PER", "O", "B-LOC"]
    with pytest.raises(ConfigurationError, match="no tags in its namespace `pos_tags`"):
        tags_in_order(Vocabulary({"labels": {"O": 1}}), "pos_tags")


def test_the_word_splitter_forgets_words_beyond_a_limit(monkeypatch):
    monkeypatch.setattr(word_splitter, "MAX_WORDS", 50)
    splitter = word_splitter.WordSplitter("en")
    num_words = len(splitter.pipeline.vocab.strings)
    for number in range(300):
        assert splitter(f"Ada isn't no{number}x.")[0] == ["Ada", "is", "n't", f"no{number}x", "."]
    assert len(splitter.pipeline.vocab.strings) <= num_words + 60
