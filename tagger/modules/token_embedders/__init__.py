"""Token embedders."""

from tagger.modules.token_embedders.distinct_characters_encoder import DistinctCharactersEncoder

__all__ = ["DistinctCharactersEncoder"]
