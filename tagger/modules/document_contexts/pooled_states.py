"""What the sentence and the document are about."""

import torch
from allennlp.common.checks import ConfigurationError

from tagger.modules.document_contexts.document_context import DocumentContext
from tagger.modules.document_contexts.sentence_rows import SentenceRows


@DocumentContext.register("pooled_states")
class PooledStates(DocumentContext):
    """Looks at each token together with the means of its sentence and of its document.

    A layer of rectified units sees a token's state, the mean of the states of its sentence, and the
    mean of those of its document, after Luo, Xiao & Zhao (2020), Hierarchical contextualized
    representation for named entity recognition, who attend where this takes means.

    Args:
        input_size: The features of a state; supplied by the model in a config.
        size: The number of features to add.
        dropout: The dropout of these features.

    Raises:
        ConfigurationError: If `size` is not positive, or `dropout` is not in [0, 1).
    """

    def __init__(self, input_size: int, size: int = 128, dropout: float = 0.2) -> None:
        super().__init__()
        if size < 1:
            raise ConfigurationError(f"`size` must be at least 1; got {size}")
        if not 0 <= dropout < 1:
            raise ConfigurationError(f"`dropout` must be at least 0 and below 1; got {dropout}")
        self.size = size
        self.of_tokens = torch.nn.Linear(input_size, size)
        self.of_means = torch.nn.Linear(2 * input_size, size, bias=False)
        self.dropout = torch.nn.Dropout(dropout)

    def get_output_dim(self) -> int:
        return self.size

    def forward(self, states: torch.Tensor, rows: SentenceRows) -> torch.Tensor:
        # (S, 1), (S, D)
        lengths = rows.mask.sum(1, keepdim=True).to(states.dtype)
        sums = states.masked_fill(~rows.mask.unsqueeze(2), 0).sum(1)
        # (B, D + 1): sums over documents, and their numbers of tokens
        totals = states.new_zeros(len(rows.document_mask), sums.size(1) + 1)
        totals = totals.index_add(0, rows.documents, torch.cat([sums, lengths], dim=1))
        of_documents = (totals[:, :-1] / totals[:, -1:].clamp(min=1))[rows.documents]
        means = torch.cat([sums / lengths.clamp(min=1), of_documents], dim=1)
        # (S, L, F)
        features = self.of_tokens(states) + self.of_means(means).unsqueeze(1)
        return self.dropout(features.relu())
