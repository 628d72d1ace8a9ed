import copy

import pytest
from allennlp.common import Params
from allennlp.data import Token, TokenIndexer, Vocabulary
from allennlp.data.fields import TextField
from allennlp.data.instance import Instance
from allennlp.data.tokenizers import CharacterTokenizer

from tagger.data.token_indexers import cached_characters

TEXTS = ["a", "bab", "a", "Bab", "été", "bab", ""]


def build(name, options):
    # Building takes options to pieces.
    options = copy.deepcopy(options)
    return TokenIndexer.from_params(Params({"type": name, "min_padding_length": 3, **options}))


def indexed(name, options):
    indexer = build(name, options)
    field = TextField([Token(text) for text in TEXTS], {"tokens": indexer})
    vocab = Vocabulary.from_instances([Instance({"text": field})])
    # Before the vocabulary has them all, and after.
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
def test_vocabulary_and_indices_are_those_of_characters(options):
    assert indexed("cached_characters", options) == indexed("characters", options)


def test_a_word_is_taken_to_pieces_once_and_memory_has_a_bound(monkeypatch):
    monkeypatch.setattr(cached_characters, "MAX_WORDS", 2)
    seen = []
    tokenize = CharacterTokenizer.tokenize
    monkeypatch.setattr(
        CharacterTokenizer,
        "tokenize",
        lambda self, text: seen.append(text) or tokenize(self, text),
    )
    indexer = build("cached_characters", {})
    vocab = Vocabulary({"token_characters": {"a": 1}})
    for text in ["a", "b", "a", "c", "c", "a"]:
        assert len(indexer.tokens_to_indices([Token(text)], vocab)["token_characters"]) == 1
    assert seen == ["a", "b", "c", "a"]
