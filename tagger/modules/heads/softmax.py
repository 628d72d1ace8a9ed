"""A token classifier as a tagging head."""

import torch

from tagger.modules.heads.chain_head import TokenwiseHead
from tagger.modules.heads.tagging_head import TaggingHead


@TaggingHead.register("softmax")
class SoftmaxHead(TokenwiseHead):
    """A softmax over the tags of each token, independent of the other tokens.

    The arguments are those of `TokenwiseHead`. With `constrain_decoding`, it predicts the most probable
    of the sequences that `tag_encoding` allows, else the most probable tag of each token.
    """

    def best_tags(self, emissions: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        if self.constrain_decoding:
            return super().best_tags(emissions, mask)
        # Same as both ways of decoding, but without the rounding errors of sums over long chains.
        best = self.decoder.biased(emissions).argmax(2)
        return torch.where(mask, best, torch.zeros_like(best))
