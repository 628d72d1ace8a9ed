"""Token embedders."""

import tagger.common.needs_allennlp  # noqa: F401
from tagger.modules.token_embedders.distinct_characters_encoder import DistinctCharactersEncoder
from tagger.modules.token_embedders.frozen_transformer import FrozenTransformerEmbedder
from tagger.modules.token_embedders.hash_table import VectorTable
from tagger.modules.token_embedders.lexicon import Lexicon
from tagger.modules.token_embedders.numbers import NumbersEmbedder
from tagger.modules.token_embedders.transformer import TransformerEmbedder
from tagger.modules.token_embedders.word_vectors import (
    WordVectors,
    are_unknown,
    share_unknown_words,
)

__all__ = [
    "DistinctCharactersEncoder",
    "FrozenTransformerEmbedder",
    "Lexicon",
    "NumbersEmbedder",
    "TransformerEmbedder",
    "VectorTable",
    "WordVectors",
    "are_unknown",
    "share_unknown_words",
]
