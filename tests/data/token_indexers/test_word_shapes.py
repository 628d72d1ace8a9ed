import pytest
from allennlp.common import Params
from allennlp.data import Token, TokenIndexer, Vocabulary

import tagger  # noqa: F401  (registers the components)
from tagger.data.token_indexers import word_shape


@pytest.mark.parametrize(
    ("word", "shape"),
    [
        ("i", "x"),
        ("I", "X"),
        ("USA", "XX"),
        ("Österreich", "Xxx"),
        ("O'Brien", "X'Xxx"),
        ("13:07", "dd:dd"),
        ("...", ".."),
        ("中文", "xx"),
        ("", ""),
        ("aB" * 100, "xXxXxXxX"),
    ],
)
def test_a_shape_keeps_capitals_digits_and_signs_alone(word, shape):
    assert word_shape(word) == shape


def test_words_of_one_shape_have_one_index():
    indexer = TokenIndexer.from_params(Params({"type": "word_shapes"}))
    tokens = [Token(word) for word in ("Oslo", "Turku", "EU", "x-7")]
    counter = {"word_shapes": {"Xxx": 0, "XX": 0, "x-d": 0}}
    for token in tokens:
        indexer.count_vocab_items(token, counter)
    assert counter == {"word_shapes": {"Xxx": 2, "XX": 1, "x-d": 1}}
    vocab = Vocabulary({"word_shapes": {"Xxx": 2, "XX": 1}})
    assert indexer.tokens_to_indices(tokens, vocab) == {"tokens": [2, 2, 3, 1]}
