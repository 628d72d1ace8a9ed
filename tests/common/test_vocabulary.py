import pytest
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary

from tagger.common.vocabulary import tags_in_order


def test_tags_are_listed_in_the_order_of_their_indices():
    vocab = Vocabulary({"labels": {"O": 1, "B-PER": 3, "I-PER": 2}})
    vocab.add_token_to_namespace("B-LOC", "labels")
    assert tags_in_order(vocab, "labels") == ["B-PER", "I-PER", "O", "B-LOC"]


def test_a_namespace_without_tags_is_refused():
    with pytest.raises(ConfigurationError, match="no tags in its namespace `pos_tags`"):
        tags_in_order(Vocabulary({"labels": {"O": 1}}), "pos_tags")
