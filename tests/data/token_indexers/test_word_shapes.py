import copy
import pickle

import pytest
from allennlp.common import Params
from allennlp.data import Token, TokenIndexer, Vocabulary

import tagger  # noqa: F401  (registers the components)
from tagger.data.token_indexers.cached_characters import CachedCharactersIndexer
from tagger.data.token_indexers.word_forms import WordFormsIndexer
from tagger.data.token_indexers.word_shapes import WordShapesIndexer
from tagger_texts.words import word_shape


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
        ("हिन्दी", "xx"),
        ("Ho\u0302tel", "Xxx"),
        ("\u0301", "\u0301"),
        ("", ""),
        ("aB" * 100, "xXxXxXxX"),
    ],
)
def test_a_shape_reflects_only_capitals_digits_and_signs(word, shape):
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


@pytest.mark.parametrize(
    ("indexer", "namespace"),
    [
        (WordShapesIndexer(), "word_shapes"),
        (WordFormsIndexer(), "tokens"),
        (CachedCharactersIndexer(min_padding_length=1), "token_characters"),
    ],
)
def test_words_are_looked_up_again_in_another_or_a_larger_vocabulary(indexer, namespace):
    def index(vocab):
        (index,) = next(iter(indexer.tokens_to_indices([Token("x")], vocab).values()))
        return index if isinstance(index, int) else index[0]

    first, second = (Vocabulary({namespace: dict.fromkeys(own, 1)}) for own in ("x", "yx"))
    assert [index(vocab) for vocab in (first, second, first)] == [2, 3, 2]
    empty = Vocabulary({namespace: {"y": 1}})
    assert index(empty) == 1
    empty.add_token_to_namespace("x", namespace)
    assert index(empty) == 3
    pickled = pickle.dumps(indexer)
    assert b"Vocabulary" not in pickled
    tokens, third = [Token("x")], Vocabulary({namespace: {"zyx": 1, "x": 1}})
    for copied in (pickle.loads(pickled), copy.deepcopy(indexer)):
        assert copied.tokens_to_indices(tokens, third) == indexer.tokens_to_indices(tokens, third)
