"""What every tagging head provides."""

import torch
from allennlp.common import Registrable


class TaggingHead(torch.nn.Module, Registrable):
    """Turns emissions into a loss while training, and into tags afterwards.

    Letters: `B` batch, `T` tokens, `K` tags. A mask is (B, T) bool, right-padded.
    """

    default_implementation = "crf"

    def sequence_loss(
        self, emissions: torch.Tensor, tags: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        """The loss of each sequence, summed over its tokens.

        Args:
            emissions: (B, T, K), scores of each tag at each token.
            tags: (B, T) int64, the gold tags.
            mask: (B, T) bool.

        Returns:
            (B,), differentiable, 0 for a sequence without a token.
        """
        raise NotImplementedError

    def decode(self, emissions: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """The tags to predict.

        Args:
            emissions: (B, T, K), scores of each tag at each token.
            mask: (B, T) bool.

        Returns:
            (B, T) int64, 0 in the padding.
        """
        raise NotImplementedError
