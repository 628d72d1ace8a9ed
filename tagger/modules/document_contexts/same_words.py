"""The other occurrences of a word in its document."""

from typing import List

import torch
from allennlp.common.checks import ConfigurationError

from tagger.modules.document_contexts.document_context import DocumentContext
from tagger.modules.document_contexts.sentence_rows import SentenceRows

# The most pairs of tokens that are compared at a time; each takes some ten bytes.
_PAIRS_AT_ONCE = 1 << 24


@DocumentContext.register("same_words")
class SameWords(DocumentContext):
    """Attends over the states of the same word elsewhere in the document.

    Where a name stands in a context that gives its label away, its other occurrences profit. Words are
    the same if they differ in case alone. After Luo, Xiao & Zhao (2020), Hierarchical contextualized
    representation for named entity recognition, whose memory holds the words of the whole corpus, and
    Hu et al. (2020), Leveraging multi-token entities in document-level named entity recognition.

    Letters: `B` documents, `T` tokens of the longest, `D` features of a state.

    Args:
        input_size: D; supplied by the model in a config.
        size: The features of queries and keys, whose products say how much an occurrence counts.
        dropout: The dropout of the features, each of a token's on its own.

    Raises:
        ConfigurationError: If `size` is not positive, or `dropout` is not in [0, 1).
    """

    def __init__(self, input_size: int, size: int = 64, dropout: float = 0.0) -> None:
        super().__init__()
        if size < 1:
            raise ConfigurationError(f"`size` must be at least 1; got {size}")
        if not 0 <= dropout < 1:
            raise ConfigurationError(f"`dropout` must be at least 0 and below 1; got {dropout}")
        self.input_size = input_size
        self.query = torch.nn.Linear(input_size, size)
        self.key = torch.nn.Linear(input_size, size, bias=False)
        self.dropout = torch.nn.Dropout(dropout)

    def get_output_dim(self) -> int:
        """Returns D: the features are a mean of states, 0 for a word that occurs once."""
        return self.input_size

    def forward(self, states: torch.Tensor, rows: SentenceRows) -> torch.Tensor:
        if rows.word_ids is None:
            raise ValueError(
                "`word_ids` is missing, which says what words of a document are the same; let the "
                "dataset reader `column` read documents, or add this field to your own"
            )
        # (B, T, D)
        states = rows.join(states)
        # A batch of many documents is taken in parts.
        num_documents = max(1, _PAIRS_AT_ONCE // max(1, states.size(1)) ** 2)
        parts: List[torch.Tensor] = [
            self._mean_of_others(*part)
            for part in zip(
                states.split(num_documents),
                rows.word_ids.split(num_documents),
                rows.document_mask.split(num_documents),
            )
        ]
        return self.dropout(rows.split(torch.cat(parts)))

    def _mean_of_others(
        self, states: torch.Tensor, word_ids: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        """Returns the weighted mean of the other occurrences' states, (B, T, D)."""
        # (B, T, T)
        is_other = word_ids.unsqueeze(2) == word_ids.unsqueeze(1)
        is_other &= mask.unsqueeze(1)
        is_other.diagonal(dim1=1, dim2=2).fill_(False)
        scores = self.query(states) @ self.key(states).transpose(1, 2)
        scores = scores * self.query.out_features**-0.5
        weights = scores.masked_fill(~is_other, torch.finfo(scores.dtype).min).softmax(2)
        # A word without others has equal weights everywhere.
        return weights.masked_fill(~is_other, 0) @ states
