"""Encoders of sequences as ONNX."""

from typing import Any, List, Sequence, Tuple

import numpy as np
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.modules import Seq2SeqEncoder, Seq2VecEncoder
from allennlp.modules.seq2seq_encoders import (
    GruSeq2SeqEncoder,
    LstmSeq2SeqEncoder,
    PassThroughEncoder,
)
from allennlp.modules.seq2vec_encoders import CnnEncoder, GruSeq2VecEncoder, LstmSeq2VecEncoder
from allennlp.nn.activations import LinearActivation

from tagger.integrations.onnx.graph import Value
from tagger.modules.building import type_name
from tagger.modules.encoders.bilstm import BiLstmEncoder
from tagger.modules.encoders.masked_cnn import MaskedCnnEncoder

# Input weights, state weights and both biases, for each direction of each layer.
_Weights = Sequence[Sequence[Sequence[torch.Tensor]]]

# The order in which ONNX wants the gates, as indices of PyTorch's blocks: input, output, forget and cell
# gate of an LSTM; update, reset and hidden gate of a GRU.
_GATES = {"LSTM": (0, 3, 1, 2), "GRU": (1, 0, 2)}
_ACTIVATIONS = {
    LinearActivation: "Identity",
    torch.nn.ReLU: "Relu",
    torch.nn.Sigmoid: "Sigmoid",
    torch.nn.Tanh: "Tanh",
}


def encode(encoder: Seq2SeqEncoder, inputs: Value, lengths: Value) -> Value:
    """Encodes the items of inputs, (B, T, D) float32, in context, (B, T, features)."""
    # Exact types: a subclass may compute something else.
    if type(encoder) is PassThroughEncoder:
        return inputs
    if type(encoder) is BiLstmEncoder:
        layers = zip(encoder.forward_layers, encoder.backward_layers)
        weights = [[list(module.parameters()) for module in layer] for layer in layers]
        return _layers("LSTM", weights, inputs, lengths)[0]
    if type(encoder) in (GruSeq2SeqEncoder, LstmSeq2SeqEncoder):
        return _layers(*_split(encoder._module), inputs, lengths)[0]
    raise ConfigurationError(
        f"the encoder `{type_name(type(encoder))}` cannot be exported; use `bilstm`, `lstm`, `gru` or "
        f"`pass_through`"
    )


def pool(encoder: Seq2VecEncoder, inputs: Value, mask: Value) -> Value:
    """Encodes each row of inputs, (B, T, D) float32, as one vector, (B, features)."""
    lengths = mask.cast("int64").reduce("Sum", 1)
    if type(encoder) in (CnnEncoder, MaskedCnnEncoder):
        return _convolve(encoder, inputs, mask, lengths)
    if type(encoder) in (GruSeq2VecEncoder, LstmSeq2VecEncoder):
        return _layers(*_split(encoder._module), inputs, lengths)[1]
    raise ConfigurationError(
        f"the encoder of characters `{type_name(type(encoder))}` cannot be exported; use `masked_cnn`, "
        f"`cnn`, `lstm` or `gru`"
    )


def linear(layer: torch.nn.Linear, inputs: Value) -> Value:
    """Applies a linear layer to the last axis."""
    outputs = inputs.op("MatMul", layer.weight.detach().numpy().T)
    return outputs if layer.bias is None else outputs + layer.bias.detach().numpy()


def _split(module: Any) -> Tuple[str, _Weights]:
    """Returns the ONNX operator for a PyTorch module, and the weights."""
    if module.proj_size or not module.bias:
        raise ConfigurationError(
            f"an encoder with a projection or without biases cannot be exported: {module}"
        )
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    suffixes = ("", "_reverse")[: 1 + module.bidirectional]
    return module.mode, [
        [[getattr(module, f"{name}_l{number}{suffix}") for name in names] for suffix in suffixes]
        for number in range(module.num_layers)
    ]


def _layers(operator: str, layers: _Weights, inputs: Value, lengths: Value) -> Tuple[Value, Value]:
    """Runs recurrent layers; returns all states, (B, T, features), 0 in padding, and the last ones."""
    lengths = lengths.cast("int32")
    # (T, B, D)
    states = inputs.op("Transpose", perm=[1, 0, 2])
    for directions in layers:
        size = directions[0][1].size(1)
        options = {"linear_before_reset": 1} if operator == "GRU" else {}
        # (T, directions, B, H) and (directions, B, H)
        states, last = inputs.graph.add(
            operator,
            states,
            *_stacked(directions, _GATES[operator]),
            lengths,
            num_outputs=2,
            hidden_size=size,
            direction="bidirectional" if len(directions) == 2 else "forward",
            **options,
        )
        joined = np.array([0, 0, size * len(directions)])
        states = states.op("Transpose", perm=[0, 2, 1, 3]).op("Reshape", joined)
        last = last.op("Transpose", perm=[1, 0, 2]).op("Reshape", joined[1:])
    return states.op("Transpose", perm=[1, 0, 2]), last


def _stacked(
    directions: Sequence[Sequence[torch.Tensor]], order: Sequence[int]
) -> List[np.ndarray]:
    """Returns the input weights, state weights and biases, each stacked over directions."""

    def reordered(weights: torch.Tensor) -> np.ndarray:
        blocks = np.split(weights.detach().numpy(), len(order))
        return np.concatenate([blocks[place] for place in order])

    parts = [[reordered(each) for each in weights] for weights in directions]
    return [
        np.stack([from_inputs for from_inputs, *_ in parts]),
        np.stack([from_states for _, from_states, *_ in parts]),
        np.stack([np.concatenate(biases) for _, _, *biases in parts]),
    ]


def _convolve(encoder: Any, inputs: Value, mask: Value, lengths: Value) -> Value:
    """See `tagger.modules.encoders.MaskedCnnEncoder`."""
    inputs = (~mask).unsqueeze(2).where(np.float32(0), inputs)
    # (B, D, T)
    inputs = inputs.op("Transpose", perm=[0, 2, 1])
    lengths = lengths.unsqueeze(1)
    maxima = []
    for convolution in encoder._convolution_layers:
        (width,) = convolution.kernel_size
        weight, bias = (each.detach().numpy() for each in (convolution.weight, convolution.bias))
        responses = _activated(encoder, inputs.op("Conv", weight, bias))
        # (B, T - width + 1)
        is_beyond = responses.places(2) > lengths - np.int64(width)
        responses = is_beyond.unsqueeze(1).where(np.float32(-np.inf), responses)
        is_too_short = lengths < np.int64(width)
        maxima.append(is_too_short.where(np.float32(0), responses.reduce("Max", 2)))
    pooled = maxima[0].op("Concat", *maxima[1:], axis=1)
    return linear(encoder.projection_layer, pooled) if encoder.projection_layer else pooled


def _activated(encoder: CnnEncoder, values: Value) -> Value:
    activation = type(encoder._activation)
    if activation not in _ACTIVATIONS:
        raise ConfigurationError(
            f"the activation `{activation.__name__}` of the encoder of characters cannot be exported; "
            f"use `linear`, `relu`, `sigmoid` or `tanh`"
        )
    return values.op(_ACTIVATIONS[activation])
