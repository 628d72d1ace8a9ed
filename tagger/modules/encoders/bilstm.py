"""A stacked bidirectional LSTM."""

from typing import Tuple, cast

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.modules import InputVariationalDropout, Seq2SeqEncoder

from tagger.lstm import bidirectional_lstm


@Seq2SeqEncoder.register("bilstm")
class BiLstmEncoder(Seq2SeqEncoder):
    """A stack of bidirectional LSTM layers over right-padded sequences.

    Letters: `B` batch, `T` tokens, `D` features. Padding changes nothing. Each direction is an LSTM of
    its own; `tagger.lstm` runs both.

    Args:
        input_size: features of each token. In a config of `sequence_tagger` it may be left out.
        hidden_size: features of each direction; a token's output has twice as many.
        num_layers: how many layers.
        dropout: of what passes between layers.
        input_dropout: of what enters the first layer.
        output_dropout: of what leaves the last layer.
        variational: whether dropout zeroes the same features at every token of a sequence (Gal &
            Ghahramani 2016) instead of drawing anew for each token.

    Raises:
        ConfigurationError: if a size is not positive or a dropout is not in [0, 1).
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        dropout: float = 0.0,
        input_dropout: float = 0.0,
        output_dropout: float = 0.0,
        variational: bool = False,
    ) -> None:
        super().__init__()
        for name, size in (
            ("input_size", input_size),
            ("hidden_size", hidden_size),
            ("num_layers", num_layers),
        ):
            if size < 1:
                raise ConfigurationError(f"`{name}` must be at least 1; got {size}")
        for name, probability in (
            ("dropout", dropout),
            ("input_dropout", input_dropout),
            ("output_dropout", output_dropout),
        ):
            if not 0 <= probability < 1:
                raise ConfigurationError(
                    f"`{name}` must be at least 0 and below 1; got {probability}"
                )
        self.input_size = input_size
        self.output_size = 2 * hidden_size
        sizes = [input_size] + [self.output_size] * (num_layers - 1)
        self.forward_layers, self.backward_layers = (
            torch.nn.ModuleList(
                torch.nn.LSTM(size, hidden_size, batch_first=True) for size in sizes
            )
            for _ in range(2)
        )
        dropout_class = InputVariationalDropout if variational else torch.nn.Dropout
        rates = [input_dropout] + [dropout] * (num_layers - 1)
        self.layer_dropouts = torch.nn.ModuleList(dropout_class(rate) for rate in rates)
        self.output_dropout = dropout_class(output_dropout)

    def forward(self, inputs: torch.Tensor, mask: torch.BoolTensor) -> torch.Tensor:
        """Encodes each token with what stands before and after it.

        Args:
            inputs: (B, T, D), features of each token.
            mask: (B, T) bool, right-padded.

        Returns:
            (B, T, 2 * hidden_size), 0 in the padding.
        """
        outputs = inputs.masked_fill(~mask.unsqueeze(2), 0)
        for to_right, to_left, layer_dropout in zip(
            self.forward_layers, self.backward_layers, self.layer_dropouts
        ):
            lstms = cast(Tuple[torch.nn.LSTM, torch.nn.LSTM], (to_right, to_left))
            outputs = bidirectional_lstm(*lstms, layer_dropout(outputs), mask)
        return self.output_dropout(outputs)

    def get_input_dim(self) -> int:
        """Features of each token that comes in."""
        return self.input_size

    def get_output_dim(self) -> int:
        """Features of each token that goes out."""
        return self.output_size

    def is_bidirectional(self) -> bool:
        """Whether outputs hold two directions: they do."""
        return True
