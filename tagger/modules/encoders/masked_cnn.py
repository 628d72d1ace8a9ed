"""A convolution over tokens or characters, with a maximum that ignores padding."""

from typing import Optional, Tuple

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.modules import Seq2VecEncoder
from allennlp.modules.seq2vec_encoders import CnnEncoder
from allennlp.nn import Activation

from tagger.common.ranges import check_sizes
from tagger.modules.linear import linear


@Seq2VecEncoder.register("masked_cnn")
class MaskedCnnEncoder(CnnEncoder):
    """AllenNLP's `cnn`, with the same arguments, parameters and results, also in mixed precision.

    AllenNLP's `cnn` marks positions beyond a sequence with the lowest number of their type, and later
    looks for that number to remove it. With `use_amp` the type changes in between, so sequences shorter
    than a filter, such as words of two letters, are encoded as that number.

    On a CPU this class is also faster, because it computes no responses to padding.

    Args:
        embedding_dim: The features of a token.
        num_filters: The number of filters of each width.
        ngram_filter_sizes: The widths of the filters, in tokens.
        conv_layer_activation: The activation of the responses; by default `relu`.
        output_dim: The features after a linear layer; None for no such layer.
    """

    def __init__(
        self,
        embedding_dim: int,
        num_filters: int,
        ngram_filter_sizes: Tuple[int, ...] = (2, 3, 4, 5),
        conv_layer_activation: Optional[Activation] = None,
        output_dim: Optional[int] = None,
    ) -> None:
        check_sizes(embedding_dim=embedding_dim, num_filters=num_filters)
        check_sizes(**({} if output_dim is None else {"output_dim": output_dim}))
        if not ngram_filter_sizes or min(ngram_filter_sizes) < 1:
            raise ConfigurationError(
                f"`ngram_filter_sizes` must be widths of at least 1; got {list(ngram_filter_sizes)}"
            )
        super().__init__(
            embedding_dim,
            num_filters,
            ngram_filter_sizes,
            conv_layer_activation,  # type: ignore[arg-type]  # AllenNLP's default is None
            output_dim,
        )

    def forward(self, tokens: torch.Tensor, mask: Optional[torch.Tensor]) -> torch.Tensor:
        """Returns the largest response of each filter, (B, filters), 0 for filters wider than the text.

        Tokens are (B, T, D), and the mask is right-padded.
        """
        # AllenNLP's embedder of characters passes a mask of integers.
        is_token = torch.ones_like(tokens[:, :, 0]).bool() if mask is None else mask.bool()
        tokens, lengths = tokens.masked_fill(~is_token.unsqueeze(2), 0), is_token.sum(1)
        widest = max(self._ngram_filter_sizes)
        if tokens.size(1) < widest:
            tokens = torch.nn.functional.pad(tokens, (0, 0, 0, widest - tokens.size(1)))
        # On a GPU, counting the windows without padding would force a sync.
        largest = _largest_of_windows if tokens.device.type == "cpu" else _largest_of_places
        maxima = []
        for convolution in self._convolution_layers:
            maximum = largest(convolution, self._activation, tokens, lengths)
            is_too_short = lengths < convolution.kernel_size[0]
            maxima.append(maximum.masked_fill(is_too_short.unsqueeze(1), 0))
        pooled = torch.cat(maxima, dim=1)
        if self.projection_layer is None:
            return pooled
        return linear(pooled, self.projection_layer.weight, self.projection_layer.bias)


def _largest_of_windows(
    convolution: torch.nn.Conv1d,
    activation: Activation,
    tokens: torch.Tensor,
    lengths: torch.Tensor,
) -> torch.Tensor:
    """Returns the largest responses to windows of tokens, (B, filters); without any, to the first."""
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
    """Returns the largest responses, (B, filters), -inf for a sequence without a window of tokens."""
    # (B, filters, T - width + 1)
    responses = activation(convolution(tokens.transpose(1, 2)))
    places = torch.arange(responses.size(2), device=tokens.device)
    # (B, T - width + 1)
    is_beyond = places > (lengths - convolution.kernel_size[0]).unsqueeze(1)
    return responses.masked_fill(is_beyond.unsqueeze(1), -torch.inf).amax(2)
