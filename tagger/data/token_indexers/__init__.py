"""Token indexers."""

from tagger.data.token_indexers.cached_characters import CachedCharactersIndexer
from tagger.data.token_indexers.word_forms import WordFormsIndexer, word_forms, word_hash
from tagger.data.token_indexers.word_shapes import WordShapesIndexer, word_shape

__all__ = [
    "CachedCharactersIndexer",
    "WordFormsIndexer",
    "WordShapesIndexer",
    "word_forms",
    "word_hash",
    "word_shape",
]
