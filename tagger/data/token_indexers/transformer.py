"""A token indexer for transformers that are trained."""

from typing import Dict, List, Optional

from allennlp.common.checks import ConfigurationError
from allennlp.data import Token, TokenIndexer, Vocabulary
from allennlp.data.token_indexers.token_indexer import IndexedTokenList

from tagger.transformers.windows import overlapping_windows
from tagger.transformers.word_pieces import WordPieces


@TokenIndexer.register("transformer")
class TransformerIndexer(TokenIndexer):
    """Splits words into the word pieces of a pretrained transformer, and long texts into windows.

    A text that is longer than a window is read in several that overlap. Each piece is kept from the
    window in which it is farthest from a border, so that nothing is cut off.

    Letters: `T` tokens, `N` windows, `P` pieces of all windows with their special ones.

    Args:
        model_name: The folder of the transformer, or its name on the Hugging Face hub.
        max_pieces: The most pieces of a window, special ones included.
        overlap: The least number of pieces that two windows of a text share; by default a quarter of
            `max_pieces`.
        token_min_padding_length: As for all of AllenNLP's indexers.

    Raises:
        ConfigurationError: If there is no such tokenizer, or the sizes do not fit together.
    """

    def __init__(
        self,
        model_name: str,
        max_pieces: int = 256,
        overlap: Optional[int] = None,
        token_min_padding_length: int = 0,
    ) -> None:
        super().__init__(token_min_padding_length)
        self.pieces = WordPieces.load(model_name)
        self.max_pieces = max_pieces
        self._size = max_pieces - self.pieces.num_special
        self._overlap = max_pieces // 4 if overlap is None else overlap
        if not 0 <= self._overlap < self._size:
            raise ConfigurationError(
                f"`overlap` must be at least 0 and below the {self._size} pieces that fit into a window "
                f"of `max_pieces` ({max_pieces}) beside {self.pieces.num_special} special ones; got "
                f"{self._overlap}"
            )

    def count_vocab_items(self, token: Token, counter: Dict[str, Dict[str, int]]) -> None:
        """Counts nothing: the transformer has a vocabulary of its own."""

    def tokens_to_indices(self, tokens: List[Token], vocabulary: Vocabulary) -> IndexedTokenList:
        """Returns what `TransformerEmbedder.forward` takes.

        Returns:
            `pieces`, P indices: the windows, one after the other; `is_kept`, P booleans: of which pieces
            the states are used; `window_lengths`, N numbers of pieces; `num_pieces`, T numbers of kept
            pieces; and `mask`, T times true.
        """
        by_word = self.pieces.split([token.ensure_text() for token in tokens])
        text = [piece for pieces in by_word for piece in pieces]
        before, after = self.pieces.start, self.pieces.end
        indices: List[int] = []
        is_kept: List[bool] = []
        lengths: List[int] = []
        for window in overlapping_windows(len(text), self._size, self._overlap):
            own = [*before, *text[window.start : window.end], *after]
            first = window.start - len(before)
            is_kept += [window.first <= first + place < window.last for place in range(len(own))]
            indices += own
            lengths.append(len(own))
        return {
            "pieces": indices,
            "is_kept": is_kept,
            "window_lengths": lengths,
            "num_pieces": [len(pieces) for pieces in by_word],
            "mask": [True] * len(tokens),
        }

    def get_empty_token_list(self) -> IndexedTokenList:
        names = ("pieces", "is_kept", "window_lengths", "num_pieces", "mask")
        return {name: [] for name in names}
