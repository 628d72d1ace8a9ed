"""A convolution over tokens or characters, whose maximum regards only those that are there."""

from typing import Optional

import torch
from allennlp.modules import Seq2VecEncoder
from allennlp.modules.seq2vec_encoders import CnnEncoder
from allennlp.nn import Activation
from torch.nn.functional import linear


@Seq2VecEncoder.register("masked_cnn")
class MaskedCnnEncoder(CnnEncoder):
    """AllenNLP's `cnn`, for mixed precision too: same arguments, same parameters, same numbers.

    AllenNLP's marks what lies beyond a sequence by the lowest number of its type, and later looks for
    that number to take it out again. With `use_amp` the type has changed in between, and sequences
    shorter than a filter, such as words of two letters, come out as that number.

    On a CPU it is faster too: it computes no response to padding.
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
            mask = torch.ones(tokens.shape[:2], dtype=torch.bool, device=tokens.device)
        # AllenNLP's embedder of characters passes a mask of integers.
        is_token = mask.bool()
        tokens, lengths = tokens.masked_fill(~is_token.unsqueeze(2), 0), is_token.sum(1)
        # On a GPU, seeking the windows that are there makes the processor wait.
        largest = _largest_of_windows if tokens.device.type == "cpu" else _largest_of_places
        maxima = []
        for convolution in self._convolution_layers:
            maximum = largest(convolution, self._activation, tokens, lengths)
            is_too_short = lengths < convolution.kernel_size[0]
            maxima.append(maximum.masked_fill(is_too_short.unsqueeze(1), 0))
        pooled = torch.cat(maxima, dim=1)
        return pooled if self.projection_layer is None else self.projection_layer(pooled)


def _largest_of_windows(
    convolution: torch.nn.Conv1d,
    activation: Activation,
    tokens: torch.Tensor,
    lengths: torch.Tensor,
) -> torch.Tensor:
    """Returns the largest responses, (B, filters), of which only those to windows of tokens are made.

    Where there is no such window, it is the response to the first.
    """
    (width,) = convolution.kernel_size
    # (B,)
    num_windows = (lengths - width + 1).clamp(min=1)
    # (B, T - width + 1)
    is_window = torch.arange(tokens.size(1) - width + 1) < num_windows.unsqueeze(1)
    # (windows, D * width)
    windows = tokens.unfold(1, width, 1)[is_window].flatten(1)
    responses = activation(linear(windows, convolution.weight.flatten(1), convolution.bias))
    return torch.segment_reduce(responses, "max", lengths=num_windows)


def _largest_of_places(
    convolution: torch.nn.Conv1d,
    activation: Activation,
    tokens: torch.Tensor,
    lengths: torch.Tensor,
) -> torch.Tensor:
    """Returns the largest responses, (B, filters), -inf where there is no window of tokens."""
    # (B, filters, T - width + 1)
    responses = activation(convolution(tokens.transpose(1, 2)))
    places = torch.arange(responses.size(2), device=tokens.device)
    # (B, T - width + 1)
    is_beyond = places > (lengths - convolution.kernel_size[0]).unsqueeze(1)
    return responses.masked_fill(is_beyond.unsqueeze(1), -torch.inf).amax(2)
