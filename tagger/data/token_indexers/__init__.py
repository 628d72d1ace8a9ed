"""Token indexers."""

from tagger.data.token_indexers.cached_characters import CachedCharactersIndexer

__all__ = ["CachedCharactersIndexer"]
