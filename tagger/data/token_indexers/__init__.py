"""Token indexers."""

from tagger.data.token_indexers.cached_characters import CachedCharactersIndexer
from tagger.data.token_indexers.word_forms import WordFormsIndexer, word_forms, word_hash

__all__ = ["CachedCharactersIndexer", "WordFormsIndexer", "word_forms", "word_hash"]
