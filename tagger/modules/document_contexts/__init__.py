"""What a tagger takes from the document around a sentence."""

import tagger.common.needs_allennlp  # noqa: F401
from tagger.modules.document_contexts.document_context import DocumentContext
from tagger.modules.document_contexts.encode_sentences import encode_sentences
from tagger.modules.document_contexts.neighbouring_tokens import NeighbouringTokens
from tagger.modules.document_contexts.pooled_states import PooledStates
from tagger.modules.document_contexts.same_words import SameWords
from tagger.modules.document_contexts.sentence_rows import SentenceRows

__all__ = [
    "DocumentContext",
    "NeighbouringTokens",
    "PooledStates",
    "SameWords",
    "SentenceRows",
    "encode_sentences",
]
