import copy

import pytest
import torch
from allennlp.common import Params
from allennlp.data import Token, TokenIndexer, Vocabulary
from allennlp.data.fields import TextField
from allennlp.data.instance import Instance
from allennlp.data.tokenizers import CharacterTokenizer

from tagger.data.token_indexers import cached_characters, word_cache

TEXTS = ["a", "bab", "a", "Bab", "été", "bab", ""]


def build(name, options):
    # Construction consumes the options.
    options = copy.deepcopy(options)
    return TokenIndexer.from_params(Params({"type": name, "min_padding_length": 3, **options}))


def indexed(name, options):
    indexer = build(name, options)
    field = TextField([Token(text) for text in TEXTS], {"tokens": indexer})
    vocab = Vocabulary.from_instances([Instance({"text": field})])
    # A small vocabulary first, then one with all characters.
    small = Vocabulary({"token_characters": {"a": 1}})
    return [
        list(vocab.get_token_to_index_vocabulary("token_characters").items()),
        *(indexer.tokens_to_indices(field.tokens, each) for each in (small, vocab)),
    ]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"start_tokens": ["<s>"], "end_tokens": ["</s>"]},
        {"character_tokenizer": {"byte_encoding": "utf-8"}},
        {"character_tokenizer": {"lowercase_characters": True, "start_tokens": ["^"]}},
    ],
)
def test_vocabulary_and_indices_equal_those_of_the_characters_indexer(options):
    assert indexed("cached_characters", options) == indexed("characters", options)


@pytest.mark.parametrize("lengths", [(7, 5), (9, 3), (4, 2), (7, 0), (0, 4)])
def test_padding_equals_that_of_the_characters_indexer(lengths):
    padding_lengths = dict(zip(["token_characters", "num_token_characters"], lengths))
    vocab = Vocabulary({"token_characters": dict.fromkeys("abBét", 1)})
    indexers = [build(name, {}) for name in ("cached_characters", "characters")]
    indices = indexers[0].tokens_to_indices([Token(text) for text in TEXTS], vocab)
    ours, theirs = (
        each.as_padded_tensor_dict(indices, padding_lengths)["token_characters"]
        for each in indexers
    )
    assert torch.equal(ours, theirs.reshape(lengths))
    assert ours.dtype == torch.int64


def test_a_word_is_split_once_and_the_cache_is_bounded(monkeypatch):
    for module in (cached_characters, word_cache):
        monkeypatch.setattr(module, "MAX_WORDS", 2)
    seen = []
    tokenize = CharacterTokenizer.tokenize
    monkeypatch.setattr(
        CharacterTokenizer, "tokenize", lambda self, text: seen.append(text) or tokenize(self, text)
    )
    indexer = build("cached_characters", {})
    vocab = Vocabulary({"token_characters": {"a": 1}})
    for text in ["a", "b", "a", "c", "c", "a"]:
        assert len(indexer.tokens_to_indices([Token(text)], vocab)["token_characters"]) == 1
    assert seen == ["a", "b", "c", "a"]


def test_only_the_first_characters_of_a_long_word_are_read():
    indexer = build("cached_characters", {"character_tokenizer": {"lowercase_characters": True}})
    words = ["A" * 1_000_000, "B" * cached_characters.MAX_CHARACTERS]
    field = TextField([Token(word) for word in words], {"tokens": indexer})
    vocab = Vocabulary.from_instances([Instance({"text": field})])
    assert vocab.get_vocab_size("token_characters") == 4
    found = indexer.tokens_to_indices(field.tokens, vocab)["token_characters"]
    assert [len(each) for each in found] == [500, 500]
