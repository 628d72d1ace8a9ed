"""The layer that some transformers have between their states and the classifier of tokens."""

import torch
from allennlp.modules import Seq2SeqEncoder
from allennlp.nn import Activation


@Seq2SeqEncoder.register("transformer_head")
class TransformerHead(Seq2SeqEncoder):
    """A dense layer, an activation and a layer normalisation for each token, as in ModernBERT.

    `allennlp import-hf` uses it to keep the weights of such a model.

    Args:
        input_dim: D, the size of the states, and of the result.
        activation: One of AllenNLP's, or `gelu`.
        bias: Whether the dense layer has a bias.
        norm_bias: Whether the normalisation has a bias.
        norm_eps: What the normalisation adds to the variance.
    """

    def __init__(
        self,
        input_dim: int,
        activation: Activation,
        bias: bool = False,
        norm_bias: bool = False,
        norm_eps: float = 1e-5,
    ) -> None:
        super().__init__()
        self.dense = torch.nn.Linear(input_dim, input_dim, bias)
        self.activation = activation
        self.norm = torch.nn.LayerNorm(input_dim, eps=norm_eps, bias=norm_bias)

    def get_input_dim(self) -> int:
        return self.dense.in_features

    def get_output_dim(self) -> int:
        return self.dense.out_features

    def is_bidirectional(self) -> bool:
        return False

    def forward(self, inputs: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Maps (B, T, D) to (B, T, D); `mask` changes nothing, and the padding is undefined."""
        return self.norm(self.activation(self.dense(inputs)))
