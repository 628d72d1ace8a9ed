"""A token indexer that cuts words into the pieces of a transformer, with their document around them."""

import itertools
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
import torch
from allennlp.data import Token, TokenIndexer, Vocabulary
from allennlp.data.token_indexers.token_indexer import IndexedTokenList

from tagger.common.ranges import check_is_one_of, check_number
from tagger.data.documents import DocumentTokens
from tagger.transformers.pretrained import find_transformer
from tagger.transformers.windows import Passage, group_sentences, passages_of
from tagger.transformers.word_pieces import WordPieces

#: What gets one vector each.
UNITS = ("words", "text")


class _Passages(NamedTuple):
    """The groups of sentences of a document, and the pieces of each sentence."""

    document: Sequence[Sequence[Token]]
    groups: List[Tuple[int, int]]
    pieces: List[List[int]]
    num_pieces: List[List[int]]


@TokenIndexer.register("frozen_transformer")
class FrozenTransformerIndexer(TokenIndexer):
    """Cuts words into pieces, for the token embedder `frozen_transformer`.

    An instance has the pieces of its passages: whole sentences of its document that the transformer
    reads together. If the dataset reader keeps no documents, an instance is its own passage.

    Args:
        model_name: The transformer: a folder, or a name in the cache of the Hugging Face hub.
        max_pieces: The most pieces of a passage of several sentences; as for the embedder.
        unit: What gets one vector each: `"words"`, or the whole `"text"`, for a classifier.
        token_min_padding_length: As for all of AllenNLP's indexers.
        serialization_dir: The folder of the training run, or of an archive; supplied by AllenNLP.

    Raises:
        ConfigurationError: If the transformer cannot be found, or an argument is impossible.
    """

    def __init__(
        self,
        model_name: str,
        max_pieces: int = 250,
        unit: str = "words",
        token_min_padding_length: int = 0,
        serialization_dir: Optional[str] = None,
    ) -> None:
        super().__init__(token_min_padding_length)
        check_is_one_of("unit", unit, UNITS)
        check_number("max_pieces", max_pieces, max_pieces >= 1, "at least 1")
        self._max_pieces = max_pieces
        self.unit = unit
        self.tokenizer = find_transformer(model_name, serialization_dir).tokenizer()
        self.word_pieces = WordPieces(self.tokenizer)
        # Those of the last document, because its instances come one after the other.
        self._last: Optional[_Passages] = None

    def count_vocab_items(self, token: Token, counter: Dict[str, Dict[str, int]]) -> None:
        """Counts nothing: the transformer has its own vocabulary."""

    def tokens_to_indices(self, tokens: List[Token], vocabulary: Vocabulary) -> IndexedTokenList:
        """Returns the pieces of the passages that contain the tokens, and where these are in them."""
        if not isinstance(tokens, DocumentTokens):
            tokens = DocumentTokens([tokens], 0, 1)
        first, last, passages = tokens.first, tokens.last, self._last
        if passages is None or passages.document is not tokens.document:
            passages = self._last = self._cut(tokens.document)
        groups = [group for group in passages.groups if group[0] < last and first < group[1]]
        start, end = groups[0][0], groups[-1][1]
        num_pieces = passages.num_pieces
        indices: IndexedTokenList = {
            "pieces": [list(itertools.chain(*passages.pieces[start:end]))],
            "num_pieces": [list(itertools.chain(*num_pieces[start:end]))],
            "passage_lengths": [[sum(map(len, num_pieces[a:b])) for a, b in groups]],
            "first_word": [sum(map(len, num_pieces[start:first]))],
            "mask": [True] * len(tokens),
        }
        if self.unit == "text":
            num_all = len(indices["pieces"][0])
            indices.update(num_pieces=[[num_all]], passage_lengths=[[1]], mask=[True])
        return indices

    def passages(self, indexed: IndexedTokenList) -> Iterator[Passage]:
        """Yields the passages of a text that `tokens_to_indices` indexed."""
        (pieces,), (num_pieces,) = (
            np.array(indexed[name], dtype=np.int32) for name in ("pieces", "num_pieces")
        )
        yield from passages_of(pieces, num_pieces, indexed["passage_lengths"][0])

    def get_empty_token_list(self) -> IndexedTokenList:
        empty: IndexedTokenList = {"first_word": [0], "mask": []}
        return {"pieces": [[]], "num_pieces": [[]], "passage_lengths": [[]], **empty}

    def get_padding_lengths(self, indexed_tokens: IndexedTokenList) -> Dict[str, int]:
        return {
            name: len(values[0]) if values and isinstance(values[0], list) else len(values)
            for name, values in indexed_tokens.items()
        }

    def as_padded_tensor_dict(
        self, tokens: IndexedTokenList, padding_lengths: Dict[str, int]
    ) -> Dict[str, torch.Tensor]:
        """Returns tensors for the embedder, padded with zeros.

        They are `pieces` (1, P), `num_pieces` (1, words of all passages), `passage_lengths` (1,
        passages) and `first_word` (1,), all int64; and `mask` (tokens,) bool. Tensors of one row are
        ignored when batches of similar length are made.
        """
        tensors: Dict[str, torch.Tensor] = {"first_word": torch.tensor(tokens["first_word"])}
        for name in ("pieces", "num_pieces", "passage_lengths"):
            row = torch.zeros(1, padding_lengths[name], dtype=torch.int64)
            own = tokens[name][0][: padding_lengths[name]]
            row[0, : len(own)] = torch.tensor(own, dtype=torch.int64)
            tensors[name] = row
        tensors["mask"] = torch.arange(padding_lengths["mask"]) < len(tokens["mask"])
        return tensors

    def _cut(self, document: Sequence[Sequence[Token]]) -> _Passages:
        cut = [self.word_pieces.joined([token.text or "" for token in each]) for each in document]
        pieces = [own for own, _ in cut]
        groups = group_sentences(list(map(len, pieces)), self._max_pieces)
        return _Passages(document, groups, pieces, [numbers for _, numbers in cut])

    def __getstate__(self) -> Dict[str, Any]:
        """Leaves out the last document."""
        return {**self.__dict__, "_last": None}
