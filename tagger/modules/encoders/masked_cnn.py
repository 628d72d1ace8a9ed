"""A convolution over tokens or characters, whose maximum regards only those that are there."""

from typing import Optional

import torch
from allennlp.modules import Seq2VecEncoder
from allennlp.modules.seq2vec_encoders import CnnEncoder


@Seq2VecEncoder.register("masked_cnn")
class MaskedCnnEncoder(CnnEncoder):
    """AllenNLP's `cnn`, for mixed precision too: same arguments, same parameters, same numbers.

    AllenNLP's marks what lies beyond a sequence by the lowest number of its type, and later looks for
    that number to take it out again. With `use_amp` the type has changed in between, and sequences
    shorter than a filter, such as words of two letters, come out as that number.
    """

    def forward(self, tokens: torch.Tensor, mask: Optional[torch.Tensor]) -> torch.Tensor:
        """Returns the largest response of each filter.

        Args:
            tokens: (B, T, D), features of each token; T is at least the widest filter's width.
            mask: (B, T) bool, right-padded; None for no padding.

        Returns:
            (B, number of filters), 0 for filters wider than the sequence; projected, if so asked.
        """
        if mask is None:
            is_token = torch.ones(tokens.shape[:2], dtype=torch.bool, device=tokens.device)
        else:
            # AllenNLP's embedder of characters passes integers.
            is_token = mask.bool()
        lengths = is_token.sum(1, keepdim=True)
        # (B, D, T)
        features = tokens.masked_fill(~is_token.unsqueeze(2), 0).transpose(1, 2)
        maxima = []
        for convolution in self._convolution_layers:
            # (B, filters, T - width + 1)
            responses = self._activation(convolution(features))
            places = torch.arange(responses.size(2), device=tokens.device)
            # (B, 1, T - width + 1)
            is_beyond = (places > lengths - convolution.kernel_size[0]).unsqueeze(1)
            maximum = responses.masked_fill(is_beyond, -torch.inf).amax(2)
            maxima.append(maximum.masked_fill(is_beyond.all(2), 0))
        pooled = torch.cat(maxima, dim=1)
        return pooled if self.projection_layer is None else self.projection_layer(pooled)
