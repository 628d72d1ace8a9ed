"""Token embedders."""

import tagger.needs_allennlp  # noqa: F401
from tagger.modules.token_embedders.distinct_characters_encoder import DistinctCharactersEncoder

__all__ = ["DistinctCharactersEncoder"]
