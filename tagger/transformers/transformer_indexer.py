"""A token indexer for transformers that are fine-tuned."""

from typing import Dict, List, Optional, Sequence

from allennlp.data import Token, TokenIndexer, Vocabulary
from allennlp.data.token_indexers.token_indexer import IndexedTokenList

from tagger.data.documents import DocumentTokens
from tagger.transformers.archived import fine_tuned_tokenizer
from tagger.transformers.windows import check_windows, windows_of_text
from tagger.transformers.word_pieces import WordPieces


@TokenIndexer.register("transformer")
class TransformerIndexer(TokenIndexer):
    """Cuts words into pieces, and texts into windows, for the token embedder `transformer`.

    A window has whole sentences of a document, as many as fit. A longer sentence is read in several
    windows that overlap, and each piece is kept from the window in which it is farthest from a border,
    so nothing is cut off.

    Letters: `T` tokens, `N` windows, `P` pieces of all windows with their special ones.

    Args:
        model_name: The transformer: a folder, or a name in the cache of the Hugging Face hub.
        max_pieces: The most pieces of a window, without special ones.
        overlap: The least number of pieces that two windows of a long sentence share; by default a
            quarter of `max_pieces`.
        token_min_padding_length: As for all of AllenNLP's indexers.
        serialization_dir: The folder of the training run, or of an archive; supplied by AllenNLP.

    Raises:
        ConfigurationError: If the transformer cannot be found, or an argument is impossible.
    """

    def __init__(
        self,
        model_name: str,
        max_pieces: int = 250,
        overlap: Optional[int] = None,
        token_min_padding_length: int = 0,
        serialization_dir: Optional[str] = None,
    ) -> None:
        super().__init__(token_min_padding_length)
        self.max_pieces = max_pieces
        self.overlap = max_pieces // 4 if overlap is None else overlap
        check_windows(max_pieces, self.overlap)
        self.tokenizer = fine_tuned_tokenizer(model_name, serialization_dir)
        self.word_pieces = WordPieces(self.tokenizer)

    def count_vocab_items(self, token: Token, counter: Dict[str, Dict[str, int]]) -> None:
        """Counts nothing: the transformer has its own vocabulary."""

    def tokens_to_indices(self, tokens: List[Token], vocabulary: Vocabulary) -> IndexedTokenList:
        """Returns what `TransformerEmbedder.forward` takes.

        They are `pieces`, P indices: the windows, one after the other; `is_kept`, P booleans: whether
        the state of a piece is used; `window_lengths`, N numbers of pieces; `num_pieces`, T numbers of
        kept pieces; and `mask`, T times true.
        """
        sentences: Sequence[Sequence[Token]] = [tokens]
        if isinstance(tokens, DocumentTokens):
            sentences = tokens.document[tokens.first : tokens.last]
        cut = [self.word_pieces.joined([token.text or "" for token in each]) for each in sentences]
        text = [piece for pieces, _ in cut for piece in pieces]
        lengths = [len(pieces) for pieces, _ in cut]
        before, after = self.word_pieces.start_pieces, self.word_pieces.end_pieces
        indices: IndexedTokenList = self.get_empty_token_list()
        for window in windows_of_text(lengths, self.max_pieces, self.overlap):
            own = [*before, *text[window.start : window.end], *after]
            begin = window.start - len(before)
            indices["pieces"] += own
            indices["is_kept"] += [
                window.first <= begin + place < window.last for place in range(len(own))
            ]
            indices["window_lengths"].append(len(own))
        indices["num_pieces"] = [number for _, numbers in cut for number in numbers]
        indices["mask"] = [True] * len(tokens)
        return indices

    def get_empty_token_list(self) -> IndexedTokenList:
        names = ("pieces", "is_kept", "window_lengths", "num_pieces", "mask")
        return {name: [] for name in names}
