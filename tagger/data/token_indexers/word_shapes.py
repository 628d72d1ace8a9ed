"""A token indexer for word shapes: capitals, digits and signs."""

from typing import List

from allennlp.data import Token, TokenIndexer, Vocabulary
from allennlp.data.token_indexers import SingleIdTokenIndexer
from allennlp.data.token_indexers.token_indexer import IndexedTokenList

from tagger.data.token_indexers.word_cache import WordCache
from tagger_texts.words import word_shape


@TokenIndexer.register("word_shapes")
class WordShapesIndexer(SingleIdTokenIndexer):
    """Gives each word the index of its shape, for AllenNLP's token embedder `embedding`.

    If capitals matter and word vectors are for lowercase words, this restores what the vectors hide, at
    almost no cost. Collobert et al. (2011) use four such shapes.

    Args:
        namespace: The vocabulary's namespace of the shapes.
        token_min_padding_length: As for all of AllenNLP's indexers.
    """

    def __init__(self, namespace: str = "word_shapes", token_min_padding_length: int = 0) -> None:
        super().__init__(namespace, token_min_padding_length=token_min_padding_length)
        self._indices: WordCache[int] = WordCache()

    def tokens_to_indices(self, tokens: List[Token], vocabulary: Vocabulary) -> IndexedTokenList:
        index = super().tokens_to_indices
        indices = self._indices.of(
            tokens,
            vocabulary,
            self.namespace,
            lambda token: index([token], vocabulary)["tokens"][0],
        )
        return {"tokens": indices}

    def _get_feature_value(self, token: Token) -> str:
        return word_shape(token.text or "")
