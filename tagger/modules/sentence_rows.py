"""The sentences of a batch of documents as the rows of a batch of sentences.

Letters: `B` documents, `N` sentences of the longest document, `T` tokens of the longest document,
`S` sentences of all documents, `L` tokens of the longest sentence.
"""

from typing import Optional

import torch


class SentenceRows:
    """Cuts the values of documents' tokens into rows, one for each sentence, and joins them again.

    Rows follow the order of the documents and of their sentences. Without `sentence_lengths`, or if each
    document is one sentence, the documents are the rows.

    Args:
        mask: (B, T) bool, right-padded: the tokens of documents.
        sentence_lengths: (B, N) int64, the number of tokens of each sentence, 0 in the padding.
        word_ids: (B, T) int64, the same number for the same words of a document; None if unknown.

    Attributes:
        mask: (S, L) bool, right-padded: the tokens of sentences.
        documents: (S,) int64, the document of each sentence.
        document_mask: (B, T) bool, `mask` as given.
        are_documents: Whether a document has several sentences, so that rows are not documents.

    Example:
        >>> mask = torch.tensor([[True, True, True], [True, True, False]])
        >>> rows = SentenceRows(mask, torch.tensor([[1, 2], [2, 0]]))
        >>> rows.split(torch.tensor([[5, 6, 7], [8, 9, 0]])) * rows.mask
        tensor([[5, 0],
                [6, 7],
                [8, 9]])
        >>> rows.join(rows.split(torch.tensor([[5, 6, 7], [8, 9, 0]])))
        tensor([[5, 6, 7],
                [8, 9, 0]])
    """

    def __init__(
        self,
        mask: torch.Tensor,
        sentence_lengths: Optional[torch.Tensor] = None,
        word_ids: Optional[torch.Tensor] = None,
    ) -> None:
        self.document_mask = mask
        self.word_ids = word_ids
        self.are_documents = sentence_lengths is not None and sentence_lengths.size(1) > 1
        if sentence_lengths is None or not self.are_documents:
            self.mask = mask
            self.documents = torch.arange(len(mask), device=mask.device)
            return
        if not torch.equal(sentence_lengths.sum(1), mask.sum(1)):
            raise ValueError(
                f"`sentence_lengths` must sum to the number of tokens of each document, "
                f"{mask.sum(1).tolist()}; got {sentence_lengths.sum(1).tolist()}"
            )
        is_sentence = self._is_sentence = sentence_lengths > 0
        self.documents = is_sentence.nonzero()[:, 0]
        # (S,) each: the tokens of a sentence, and where it starts in the documents laid end to end
        lengths = sentence_lengths[is_sentence]
        starts = (sentence_lengths.cumsum(1) - sentence_lengths)[is_sentence]
        starts = starts + self.documents * mask.size(1)
        # (S, L)
        tokens = torch.arange(int(lengths.max()), device=mask.device)
        self.mask = tokens < lengths.unsqueeze(1)
        self._places = torch.where(self.mask, starts.unsqueeze(1) + tokens, 0)
        # (B * T,): where each token lies in the rows laid end to end; anywhere in the padding
        self._rows_of = torch.zeros_like(mask, dtype=torch.int64).flatten()
        self._rows_of[self._places[self.mask]] = self.mask.flatten().nonzero()[:, 0]

    def split(self, values: torch.Tensor) -> torch.Tensor:
        """Cuts values of tokens, (B, T, ...), into rows, (S, L, ...), with any values in the padding."""
        return _taken(values, self._places) if self.are_documents else values

    def rows_of(self, values: torch.Tensor) -> torch.Tensor:
        """Takes values of documents' sentences, (B, N, ...), as those of rows, (S, ...)."""
        return values[self._is_sentence] if self.are_documents else values[:, 0]

    def join(self, values: torch.Tensor) -> torch.Tensor:
        """Joins rows, (S, L, ...), to values of documents, (B, T, ...), 0 in the padding."""
        if not self.are_documents:
            return values
        shape = self.document_mask.shape
        joined = _taken(values, self._rows_of.view(shape))
        padding = ~self.document_mask.view(*shape, *[1] * (values.dim() - 2))
        return joined.masked_fill(padding, 0)


def _taken(values: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """Takes values out of rows laid end to end: (rows, tokens, ...) becomes (*places.shape, ...)."""
    # `index_select` has a faster gradient than indexing.
    taken = values.flatten(0, 1).index_select(0, places.flatten())
    return taken.view(*places.shape, *values.shape[2:])
