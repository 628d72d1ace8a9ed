"""Instances have the pieces of what the transformer reads together, and know where they lie in it."""

import pickle

import numpy as np
import pytest
from allennlp.common.checks import ConfigurationError
from allennlp.data import Batch, Token, Vocabulary
from allennlp.data.fields import TextField

from tagger.data import BucketedDataLoader, ColumnDatasetReader
from tagger.data.documents import DocumentTokens
from tagger.transformers.frozen_transformer_indexer import FrozenTransformerIndexer
from tests.transformers.small import save_word_pieces

VOCAB = Vocabulary()
# One piece for each word of a letter.
DOCUMENT = [[Token(word) for word in sentence] for sentence in ("abc", "de", "fghi", "j")]


@pytest.fixture
def folder(tmp_path):
    return save_word_pieces(tmp_path / "tiny")


def index(indexer, tokens):
    return indexer.tokens_to_indices(tokens, VOCAB)


def test_a_sentence_knows_its_place_in_its_passage(folder):
    indexer = FrozenTransformerIndexer(folder, max_pieces=6)
    letters = {word: index(indexer, [Token(word)])["pieces"][0][0] for word in "abcdefghij"}
    # The passages are `abc de` and `fghi j`.
    for at, (passage, first) in enumerate([("abcde", 0), ("abcde", 3), ("fghij", 0), ("fghij", 4)]):
        indexed = index(indexer, DocumentTokens(DOCUMENT, at, at + 1))
        assert indexed["pieces"] == [[letters[word] for word in passage]]
        assert indexed["num_pieces"] == [[1] * 5]
        assert indexed["passage_lengths"] == [[5]]
        assert indexed["first_word"] == [first]
        assert indexed["mask"] == [True] * len(DOCUMENT[at])


def test_a_document_has_all_its_passages(folder):
    indexer = FrozenTransformerIndexer(folder, max_pieces=6)
    indexed = index(indexer, DocumentTokens(DOCUMENT, 0, 4))
    assert indexed["passage_lengths"] == [[5, 5]]
    assert indexed["first_word"] == [0]
    assert [len(each.pieces) for each in indexer.passages(indexed)] == [5, 5]


@pytest.mark.parametrize(
    ("unit", "num_pieces", "mask"), [("words", [1, 2, 1, 1], [True] * 4), ("text", [5], [True])]
)
def test_a_text_alone_is_its_own_passage_and_may_be_one_word(folder, unit, num_pieces, mask):
    indexer = FrozenTransformerIndexer(folder, max_pieces=3, unit=unit)
    indexed = index(indexer, [Token("london"), Token("xy"), Token("\u200b"), Token("said")])
    assert indexed["num_pieces"] == [num_pieces]
    assert indexed["passage_lengths"] == [[len(mask)]]
    assert indexed["mask"] == mask


def test_padding_is_zero_and_the_mask_false(folder):
    indexer = FrozenTransformerIndexer(folder)
    fields = [TextField([Token(word) for word in words], {"t": indexer}) for words in ("abc", "d")]
    for field in fields:
        field.index(VOCAB)
    lengths = fields[0].get_padding_lengths()
    short, empty = fields[1].as_tensor(lengths)["t"], fields[1].empty_field()
    shapes = {"pieces": (1, 3), "num_pieces": (1, 3), "passage_lengths": (1, 1), "first_word": (1,)}
    assert {name: tuple(each.shape) for name, each in short.items()} == {**shapes, "mask": (3,)}
    assert short["mask"].tolist() == [True, False, False]
    assert short["pieces"][0, 1:].tolist() == short["num_pieces"][0, 1:].tolist() == [0, 0]
    empty.index(VOCAB)
    assert not empty.as_tensor(lengths)["t"]["mask"].any()


def test_batches_are_of_like_sentences_not_of_like_passages(folder, tmp_path):
    path = tmp_path / "documents.txt"
    path.write_text("a O\n\nb O\nc O\nd O\n\n" * 3 + "-DOCSTART- O\n\ne O\n\nf O\ng O\nh O\n")
    indexer = FrozenTransformerIndexer(folder)
    keys = {"documents": "docstart", "instances": "sentences"}
    reader = ColumnDatasetReader(**keys, token_indexers={"t": indexer})
    loader = BucketedDataLoader(reader, str(path), batch_size=4, shuffle=False)
    vocab = Vocabulary.from_instances(loader.iter_instances())
    loader.index_with(vocab)
    masks = [batch["tokens"]["t"]["mask"] for batch in loader]
    assert [mask.sum().item() for mask in masks] == [12, 4]
    instances = list(loader.iter_instances())
    batch = Batch(instances)
    batch.index_instances(vocab)
    assert batch.as_tensor_dict()["tokens"]["t"]["pieces"].shape == (8, 1, 12)


def test_a_copy_indexes_alike(folder):
    indexer = FrozenTransformerIndexer(folder, max_pieces=6)
    tokens = DocumentTokens(DOCUMENT, 1, 2)
    wanted = index(indexer, tokens)
    copied, copied_tokens = pickle.loads(pickle.dumps((indexer, tokens)))
    assert index(copied, copied_tokens) == wanted
    assert np.array_equal(index(copied, tokens)["pieces"], wanted["pieces"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"unit": "piece"}, "`unit` must be one of words, text; got 'piece'"),
        ({"max_pieces": 0}, "`max_pieces` must be at least 1; got 0"),
    ],
)
def test_impossible_arguments_are_refused(folder, arguments, message):
    with pytest.raises(ConfigurationError, match=message):
        FrozenTransformerIndexer(folder, **arguments)
