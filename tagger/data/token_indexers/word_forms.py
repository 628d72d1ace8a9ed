"""A token indexer that identifies words by hashes, so that no vocabulary has to hold them."""

from typing import Dict, List, Optional, Tuple

import numpy as np
import torch
from allennlp.data import Token, TokenIndexer, Vocabulary
from allennlp.data.token_indexers.token_indexer import IndexedTokenList

from tagger.data.token_indexers.word_cache import WordCache
from tagger_texts.words import word_forms, word_hash

#: The number of a word's forms.
NUM_FORMS = 3

# The indices and the hashes of a word's forms.
Forms = Tuple[Tuple[int, ...], Tuple[int, ...]]


@TokenIndexer.register("word_forms")
@TokenIndexer.register("lexicon", constructor="of_hashes")
class WordFormsIndexer(TokenIndexer):
    """Gives each word the indices and hashes of its forms, for the token embedder `word_vectors`.

    The forms are the word as written, in lowercase, and with 0 for every digit. The vocabulary counts
    the first form and, if it differs, the last, so that dates and numbers share what is learnt.

    Args:
        namespace: The vocabulary's namespace of the forms; None for hashes only, so that no word is
            counted twice.
        lowercase: Whether the first form is lowercase too, as in the GloVe 6B files.
        token_min_padding_length: As for all of AllenNLP's indexers.
    """

    def __init__(
        self,
        namespace: Optional[str] = "tokens",
        lowercase: bool = False,
        token_min_padding_length: int = 0,
    ) -> None:
        super().__init__(token_min_padding_length)
        self._namespace = namespace
        self._lowercase = lowercase
        self._rows: WordCache[Forms] = WordCache()

    @classmethod
    def of_hashes(cls, token_min_padding_length: int = 0) -> "WordFormsIndexer":
        """The indexer `lexicon`."""
        return cls(None, token_min_padding_length=token_min_padding_length)

    def count_vocab_items(self, token: Token, counter: Dict[str, Dict[str, int]]) -> None:
        """Counts a token's first form, and its last if they differ."""
        if self._namespace is None:
            return
        forms = word_forms(token.text or "", self._lowercase)
        # A set's order, and so the vocabulary's, would differ between processes.
        for form in dict.fromkeys((forms[0], forms[-1])):
            counter[self._namespace][form] += 1

    def tokens_to_indices(self, tokens: List[Token], vocabulary: Vocabulary) -> IndexedTokenList:
        rows = self._rows.of(
            tokens, vocabulary, self._namespace, lambda token: self._row(token, vocabulary)
        )
        return {"indices": [row[0] for row in rows], "hashes": [row[1] for row in rows]}

    def get_empty_token_list(self) -> IndexedTokenList:
        return {"indices": [], "hashes": []}

    def get_padding_lengths(self, indexed_tokens: IndexedTokenList) -> Dict[str, int]:
        return {**super().get_padding_lengths(indexed_tokens), "num_forms": NUM_FORMS}

    def as_padded_tensor_dict(
        self, tokens: IndexedTokenList, padding_lengths: Dict[str, int]
    ) -> Dict[str, torch.Tensor]:
        """Returns `indices` and `hashes`, both (tokens, forms) int64, padded with 0 or cut to size."""
        tensors = {}
        for name, rows in tokens.items():
            padded = np.zeros((padding_lengths[name], NUM_FORMS), dtype=np.int64)
            kept = rows[: len(padded)]
            if kept:
                padded[: len(kept)] = kept
            tensors[name] = torch.from_numpy(padded)
        return tensors

    def _row(self, token: Token, vocab: Vocabulary) -> Forms:
        forms = word_forms(token.text or "", self._lowercase)
        index_of = {vocab._oov_token: 1}
        if self._namespace is not None:
            index_of = vocab.get_token_to_index_vocabulary(self._namespace)
        unknown = index_of[vocab._oov_token]
        indices = tuple(index_of.get(form, unknown) for form in forms)
        return indices, tuple(map(word_hash, forms))
