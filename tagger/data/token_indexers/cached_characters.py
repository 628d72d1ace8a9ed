"""A token indexer that splits each distinct word into characters once."""

import itertools
from typing import Any, Dict, List

import numpy as np
import torch
from allennlp.data import Token, TokenIndexer, Vocabulary
from allennlp.data.token_indexers import TokenCharactersIndexer
from allennlp.data.token_indexers.token_indexer import IndexedTokenList
from allennlp.data.tokenizers import Tokenizer

from tagger.data.token_indexers.word_cache import MAX_WORDS, WordCache

#: Only this many characters of a word are read. The filters' memory grows with the longest word of a
#: batch: a word of a million characters would take gigabytes.
MAX_CHARACTERS = 500


@TokenIndexer.register("cached_characters")
class CachedCharactersIndexer(TokenCharactersIndexer):
    """Like AllenNLP's `characters`, with the same arguments and tensors, but several times faster.

    AllenNLP creates an object for every character of every token, looks it up, and pads in Python. This
    class does so once for each distinct word, and pads with numpy. It reads only the first
    `MAX_CHARACTERS` of a word, in training and in prediction.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        tokenizer: Any = _CachedTokenizer(self._character_tokenizer)
        self._character_tokenizer = tokenizer
        self._indices: WordCache[List[int]] = WordCache()

    def tokens_to_indices(self, tokens: List[Token], vocabulary: Vocabulary) -> IndexedTokenList:
        index = super().tokens_to_indices

        def make(token: Token) -> List[int]:
            return index([token], vocabulary)["token_characters"][len(self._start_tokens)]

        words = itertools.chain(self._start_tokens, tokens, self._end_tokens)
        return {"token_characters": self._indices.of(words, vocabulary, self._namespace, make)}

    def as_padded_tensor_dict(
        self, tokens: IndexedTokenList, padding_lengths: Dict[str, int]
    ) -> Dict[str, torch.Tensor]:
        """Returns the indices as a tensor, (tokens, characters), padded with 0 or cut to size."""
        num_tokens = padding_lengths["token_characters"]
        words = tokens["token_characters"][:num_tokens]
        lengths = np.array([len(word) for word in words], dtype=np.int64)
        width = max(padding_lengths["num_token_characters"], lengths.max(initial=0))
        padded = np.zeros((num_tokens, width), dtype=np.int64)
        is_inside = np.arange(width) < lengths[:, np.newaxis]
        padded[: len(words)][is_inside] = list(itertools.chain.from_iterable(words))
        cut = padded[:, : padding_lengths["num_token_characters"]]
        return {"token_characters": torch.from_numpy(np.ascontiguousarray(cut))}


class _CachedTokenizer(Tokenizer):
    """Caches the tokens of each text for the vocabulary, which is counted before indexing."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._characters: Dict[str, List[Token]] = {}

    def tokenize(self, text: str) -> List[Token]:
        characters = self._characters.get(text)
        if characters is None:
            if len(self._characters) >= MAX_WORDS:
                self._characters.clear()
            characters = self._tokenizer.tokenize(text[:MAX_CHARACTERS])
            self._characters[text] = characters
        return characters
