"""A stacked bidirectional LSTM."""

from typing import Tuple, cast

import torch
from allennlp.modules import InputVariationalDropout, Seq2SeqEncoder

from tagger.common.ranges import check_dropouts, check_is_one_of, check_sizes
from tagger.modules.dropout import Dropout
from tagger.modules.lstm import bidirectional_lstm, reversal_of
from tagger.transformers.precision import PRECISIONS, has_bfloat16_products


@Seq2SeqEncoder.register("bilstm")
class BiLstmEncoder(Seq2SeqEncoder):
    """A stack of bidirectional LSTM layers over right-padded sequences.

    Padding changes nothing. Each direction is a separate LSTM; `tagger.modules.lstm` runs both.

    Args:
        input_size: The features of each input token. A config of `sequence_tagger` may leave it out.
        hidden_size: The features of each direction. A token's output has twice as many.
        num_layers: The number of layers.
        dropout: The dropout between layers.
        input_dropout: The dropout before the first layer.
        output_dropout: The dropout after the last layer.
        variational: Whether dropout zeroes the same features at every token of a sequence (Gal &
            Ghahramani 2016) instead of a separate draw for each token.
        recurrent_dropout: The probability, in training, that a weight between states is dropped in a
            step; see `bidirectional_lstm`.
        precision: The precision in which a CPU multiplies matrices: `"float32"`, `"bfloat16"`, or
            `"auto"` for bfloat16 if the processor has instructions for it. Sums, cells and parameters
            are in float32. On a GPU, the trainer's mixed precision decides.
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
        recurrent_dropout: float = 0.0,
        precision: str = "float32",
    ) -> None:
        super().__init__()
        check_sizes(input_size=input_size, hidden_size=hidden_size, num_layers=num_layers)
        check_dropouts(
            dropout=dropout,
            input_dropout=input_dropout,
            output_dropout=output_dropout,
            recurrent_dropout=recurrent_dropout,
        )
        check_is_one_of("precision", precision, PRECISIONS)
        self.input_size = input_size
        self.output_size = 2 * hidden_size
        self.recurrent_dropout = recurrent_dropout
        self.precision = precision
        sizes = [input_size] + [self.output_size] * (num_layers - 1)
        self.forward_layers, self.backward_layers = (
            torch.nn.ModuleList(
                torch.nn.LSTM(size, hidden_size, batch_first=True) for size in sizes
            )
            for _ in range(2)
        )
        dropout_class = InputVariationalDropout if variational else Dropout
        rates = [input_dropout] + [dropout] * (num_layers - 1)
        self.layer_dropouts = torch.nn.ModuleList(dropout_class(rate) for rate in rates)
        self.output_dropout = dropout_class(output_dropout)

    def forward(self, inputs: torch.Tensor, mask: torch.BoolTensor) -> torch.Tensor:
        """Encodes each token, (B, T, D), in its context: (B, T, 2 * hidden_size), 0 in the padding."""
        outputs = inputs.masked_fill(~mask.unsqueeze(2), 0)
        recurrent_dropout = self.recurrent_dropout if self.training else 0.0
        bfloat16 = self.precision == "bfloat16" or (
            self.precision == "auto" and has_bfloat16_products()
        )
        if bfloat16 and inputs.device.type == "cpu" and not torch.is_grad_enabled():
            # States have this precision anyway, so that nothing changes but the conversions in between.
            outputs = outputs.to(torch.bfloat16)
        reversal = reversal_of(mask)
        for to_right, to_left, layer_dropout in zip(
            self.forward_layers, self.backward_layers, self.layer_dropouts
        ):
            lstms = cast(Tuple[torch.nn.LSTM, torch.nn.LSTM], (to_right, to_left))
            outputs = bidirectional_lstm(
                *lstms, layer_dropout(outputs), mask, recurrent_dropout, reversal, bfloat16
            )
        return self.output_dropout(outputs.to(inputs.dtype))

    def get_input_dim(self) -> int:
        return self.input_size

    def get_output_dim(self) -> int:
        return self.output_size

    def is_bidirectional(self) -> bool:
        return True
