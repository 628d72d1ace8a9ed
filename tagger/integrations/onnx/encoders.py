"""Encoders of sequences as ONNX.

Letters: `B` rows, `T` items of a row, `D` features of an item, `H` hidden size.
"""

from typing import Any, List, Sequence

import numpy as np
import torch
from allennlp.common import Registrable
from allennlp.common.checks import ConfigurationError
from allennlp.modules import Seq2SeqEncoder, Seq2VecEncoder
from allennlp.modules.seq2seq_encoders import (
    GruSeq2SeqEncoder,
    LstmSeq2SeqEncoder,
    PassThroughEncoder,
)
from allennlp.modules.seq2vec_encoders import CnnEncoder, GruSeq2VecEncoder, LstmSeq2VecEncoder
from allennlp.nn.activations import LinearActivation

from tagger.integrations.onnx.graph import Graph
from tagger.modules.encoders import BiLstmEncoder, MaskedCnnEncoder

# Where PyTorch keeps the blocks of the gates that ONNX wants, in ONNX's order: input, output, forget and
# cell gate of an LSTM; update, reset and hidden gate of a GRU.
_GATES = {torch.nn.LSTM: ("LSTM", (0, 3, 1, 2)), torch.nn.GRU: ("GRU", (1, 0, 2))}
_ACTIVATIONS = {
    LinearActivation: "Identity",
    torch.nn.ReLU: "Relu",
    torch.nn.Sigmoid: "Sigmoid",
    torch.nn.Tanh: "Tanh",
}


def type_name(part: type) -> str:
    """Returns the `type` by which a config names a class, or its own name if it is not registered."""
    for names in Registrable._registry.values():
        for name, (registered, _) in names.items():
            if registered is part:
                return name
    return part.__name__


def encode(graph: Graph, encoder: Seq2SeqEncoder, inputs: str, lengths: str) -> str:
    """Encodes each item in its context, (B, T, features).

    Args:
        graph: The graph.
        encoder: The encoder.
        inputs: (B, T, D) float32.
        lengths: (B,) int64.
    """
    # Exact types: a subclass may compute something else.
    if type(encoder) is PassThroughEncoder:
        return inputs
    if type(encoder) is BiLstmEncoder:
        layers: Any = list(zip(encoder.forward_layers, encoder.backward_layers))
        return _layers(graph, layers, inputs, lengths)[0]
    if type(encoder) in (GruSeq2SeqEncoder, LstmSeq2SeqEncoder):
        return _layers(graph, _split(encoder._module), inputs, lengths)[0]
    raise ConfigurationError(
        f"the encoder `{type_name(type(encoder))}` cannot be exported; use `bilstm`, `lstm`, `gru` or "
        f"`pass_through`"
    )


def pool(graph: Graph, encoder: Seq2VecEncoder, inputs: str, mask: str) -> str:
    """Encodes each row as one vector, (B, features).

    Args:
        graph: The graph.
        encoder: The encoder.
        inputs: (B, T, D) float32.
        mask: (B, T) bool.
    """
    lengths = graph.add("ReduceSum", graph.add("Cast", mask, to=7), np.array([1]), keepdims=0)
    if type(encoder) in (CnnEncoder, MaskedCnnEncoder):
        return _convolve(graph, encoder, inputs, mask, lengths)
    if type(encoder) in (GruSeq2VecEncoder, LstmSeq2VecEncoder):
        return _layers(graph, _split(encoder._module), inputs, lengths)[1]
    raise ConfigurationError(
        f"the encoder of characters `{type_name(type(encoder))}` cannot be exported; use `masked_cnn`, "
        f"`cnn`, `lstm` or `gru`"
    )


def linear(graph: Graph, layer: torch.nn.Linear, inputs: str) -> str:
    """Applies a linear layer to the last axis."""
    outputs = graph.add("MatMul", inputs, layer.weight.detach().numpy().T)
    return outputs if layer.bias is None else graph.add("Add", outputs, layer.bias.detach().numpy())


def _split(module: Any) -> List[List[torch.nn.RNNBase]]:
    """Returns the layers of a module, each as a list of its directions of one layer each."""
    if module.proj_size or not module.bias:
        raise ConfigurationError(
            f"an encoder with a projection or without biases cannot be exported: {module}"
        )
    layers = []
    for number in range(module.num_layers):
        directions = []
        for suffix in ("", "_reverse")[: 1 + module.bidirectional]:
            weights = [
                getattr(module, f"{name}_l{number}{suffix}")
                for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
            ]
            own = type(module)(weights[0].size(1), module.hidden_size, batch_first=True)
            for parameter, weight in zip(own.parameters(), weights):
                parameter.data = weight.detach()
            directions.append(own)
        layers.append(directions)
    return layers


def _layers(
    graph: Graph, layers: Sequence[Sequence[torch.nn.RNNBase]], inputs: str, lengths: str
) -> List[str]:
    """Runs recurrent layers; returns all states, (B, T, features), and the last ones, (B, features).

    Each layer is one operator, which keeps to the lengths in both directions; in the padding it gives 0.
    """
    lengths = graph.add("Cast", lengths, to=6)
    # (T, B, D)
    states = graph.add("Transpose", inputs, perm=[1, 0, 2])
    last = ""
    for directions in layers:
        operator, order = _GATES[type(directions[0])]
        size = directions[0].hidden_size
        options = {"linear_before_reset": 1} if operator == "GRU" else {}
        # (T, directions, B, H) and (directions, B, H)
        states, last = graph.add_many(
            operator,
            2,
            states,
            *_weights(directions, order),
            lengths,
            hidden_size=size,
            direction="bidirectional" if len(directions) == 2 else "forward",
            **options,
        )
        states = graph.add("Transpose", states, perm=[0, 2, 1, 3])
        states = graph.add("Reshape", states, np.array([0, 0, size * len(directions)]))
        last = graph.add("Transpose", last, perm=[1, 0, 2])
        last = graph.add("Reshape", last, np.array([0, size * len(directions)]))
    return [graph.add("Transpose", states, perm=[1, 0, 2]), last]


def _weights(directions: Sequence[torch.nn.RNNBase], order: Sequence[int]) -> List[np.ndarray]:
    """Returns weights of inputs and of states, and biases of both, for all directions."""

    def reordered(weights: torch.Tensor) -> np.ndarray:
        blocks = np.split(weights.detach().numpy(), len(order))
        return np.concatenate([blocks[place] for place in order])

    parts = [[reordered(each) for each in module.parameters()] for module in directions]
    return [
        np.stack([from_inputs for from_inputs, *_ in parts]),
        np.stack([from_states for _, from_states, *_ in parts]),
        np.stack([np.concatenate(biases) for _, _, *biases in parts]),
    ]


def _convolve(graph: Graph, encoder: Any, inputs: str, mask: str, lengths: str) -> str:
    """See `tagger.modules.encoders.MaskedCnnEncoder`."""
    is_padding = graph.add("Unsqueeze", graph.add("Not", mask), np.array([2]))
    inputs = graph.add("Where", is_padding, np.float32(0), inputs)
    # (B, D, T)
    inputs = graph.add("Transpose", inputs, perm=[0, 2, 1])
    lengths = graph.add("Unsqueeze", lengths, np.array([1]))
    maxima = []
    for convolution in encoder._convolution_layers:
        (width,) = convolution.kernel_size
        weight, bias = (each.detach().numpy() for each in (convolution.weight, convolution.bias))
        responses = _activated(graph, encoder, graph.add("Conv", inputs, weight, bias))
        num_windows = graph.add("Shape", responses, start=2, end=3)
        places = graph.add("Range", np.int64(0), graph.add("Squeeze", num_windows), np.int64(1))
        # (B, T - width + 1)
        is_beyond = graph.add("Greater", places, graph.add("Sub", lengths, np.int64(width)))
        is_beyond = graph.add("Unsqueeze", is_beyond, np.array([1]))
        responses = graph.add("Where", is_beyond, np.float32(-np.inf), responses)
        maximum = graph.add("ReduceMax", responses, np.array([2]), keepdims=0)
        is_too_short = graph.add("Less", lengths, np.int64(width))
        maxima.append(graph.add("Where", is_too_short, np.float32(0), maximum))
    pooled = graph.add("Concat", *maxima, axis=1)
    if encoder.projection_layer is None:
        return pooled
    return linear(graph, encoder.projection_layer, pooled)


def _activated(graph: Graph, encoder: CnnEncoder, values: str) -> str:
    activation = type(encoder._activation)
    if activation not in _ACTIVATIONS:
        raise ConfigurationError(
            f"the activation `{activation.__name__}` of the encoder of characters cannot be exported; "
            f"use `linear`, `relu`, `sigmoid` or `tanh`"
        )
    return graph.add(_ACTIVATIONS[activation], values)
