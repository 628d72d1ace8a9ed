"""What every context of a document provides."""

import torch
from allennlp.common import Registrable

from tagger.modules.document_contexts.sentence_rows import SentenceRows


class DocumentContext(torch.nn.Module, Registrable):
    """Gives the tokens of a sentence features that depend on the document around it.

    A context may do either of two things, or both: widen what the encoder reads, by `margin`; or compute
    features of the encoder's states, by `forward`, which the model puts beside these states.

    Letters: `S` sentences of all documents, `L` tokens of the longest, `D` features of a state, `F`
    features that a context adds.

    Attributes:
        margin: How many tokens of the document on either side of a sentence the encoder reads with it.
    """

    margin: int = 0

    def get_output_dim(self) -> int:
        """Returns F, the number of features that the context adds to each token; here 0."""
        return 0

    def forward(self, states: torch.Tensor, rows: SentenceRows) -> torch.Tensor:
        """Computes the features of tokens; here none.

        Args:
            states: (S, L, D), the encoder's states, any finite numbers in the padding.
            rows: Where the sentences lie in their documents.

        Returns:
            (S, L, F), undefined in the padding.
        """
        return states[:, :, :0]
