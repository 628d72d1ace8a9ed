"""A pretrained transformer as ONNX, converted by PyTorch's exporter."""

import logging
import warnings
from typing import Any, Dict, List, Optional, Sequence, Tuple, cast

import numpy as np
import onnx
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data.token_indexers import PretrainedTransformerMismatchedIndexer
from allennlp.modules.token_embedders import PretrainedTransformerEmbedder

from tagger.integrations.onnx.encoders import linear
from tagger.integrations.onnx.graph import OPSET, Graph, Value
from tagger.integrations.onnx.packed import pack_matrices
from tagger.modules.token_embedders.frozen_transformer import FrozenTransformerEmbedder
from tagger.modules.token_embedders.transformer import TransformerEmbedder
from tagger.transformers.windows import longest_window


def embed_with_transformer(graph: Graph, embedder: Any, part: Any) -> Tuple[Value, Dict[str, Any]]:
    """Embeds tokens with a transformer over their word pieces, and describes the indexer."""
    frozen = embedder if isinstance(embedder, FrozenTransformerEmbedder) else None
    if frozen is not None:
        part.check(part.indexer.unit == "words", "frozen_transformer", "unit")
        pooling = frozen.word_features.pooling
        description = _describe(part.indexer, frozen.word_features.max_pieces)
        features = frozen.word_features
        states = _States(features.saved_model, features.layers, frozen.mix())
    elif isinstance(embedder, TransformerEmbedder):
        states, pooling = _States(embedder.transformer_model), embedder.pooling
        description = _describe(part.indexer, part.indexer.max_pieces)
    else:
        states = _States(embedder._matched_embedder.transformer_model)
        pooling = "mean" if embedder.sub_token_mode == "avg" else "first"
        description = _describe_allennlps(embedder._matched_embedder, part.indexer)
    pieces = graph.input(f"{part.name}_pieces", "int64", ["batch", "pieces"])
    num_pieces = graph.input(f"{part.name}_num_pieces", "int64", ["batch"])
    offsets = graph.input(f"{part.name}_offsets", "int64", ["batch", "tokens", 2])
    # (P,), (B, P)
    places = pieces.places(1)
    mask = (places < num_pieces.unsqueeze(1)).cast("float32")
    vectors = graph.take_in(_exported(states), [pieces, mask])
    words = _shares(offsets, places, pooling).op("MatMul", vectors)
    if frozen is not None:
        words = _finished(frozen, words)
    return words, {"kind": "pieces", **description}


def _finished(embedder: FrozenTransformerEmbedder, words: Value) -> Value:
    """Normalises layers that are side by side, and applies the linear layer; (B, T, E)."""
    if embedder.mix() is None:
        size = embedder.word_features.size
        apart = words.op("Reshape", np.array([0, 0, -1, size]))
        normal = apart.op("LayerNormalization", np.ones(size, np.float32), axis=-1)
        words = normal.op("Reshape", np.array([0, 0, len(embedder.word_features.layers) * size]))
    return words if embedder.projection is None else linear(embedder.projection, words)


def _describe(indexer: Any, max_pieces: int) -> Dict[str, Any]:
    """Describes one of our indexers. The runtime reads a text in one window and refuses longer ones."""
    pieces = indexer.word_pieces
    start, end = pieces.start_pieces, pieces.end_pieces
    return {
        "tokenizer": _rules(indexer.tokenizer),
        "start": start,
        "end": end,
        "padding": pieces.padding,
        # The pieces for a word that has none.
        "unknown": pieces([""])[0],
        "max_pieces": len(start) + max_pieces + len(end),
    }


def _describe_allennlps(
    embedder: PretrainedTransformerEmbedder, indexer: PretrainedTransformerMismatchedIndexer
) -> Dict[str, Any]:
    if embedder._max_length is not None or indexer._matched_indexer._max_length is not None:
        raise ConfigurationError(
            "`pretrained_transformer_mismatched` with a `max_length` cannot be exported; leave it out"
        )
    if embedder._scalar_mix is not None:
        raise ConfigurationError(
            "`pretrained_transformer_mismatched` with `last_layer_only` false cannot be exported"
        )
    own = indexer._allennlp_tokenizer
    start, end = own.single_sequence_start_tokens, own.single_sequence_end_tokens
    types: List[Any] = [token.type_id for token in [*start, *end]]
    if any([*types, own.single_sequence_token_type_id]):
        raise ConfigurationError(
            f"the tokenizer `{type(indexer._tokenizer).__name__}` gives types to word pieces, which "
            f"cannot be exported"
        )
    return {
        "tokenizer": _rules(indexer._tokenizer),
        "start": [token.text_id for token in start],
        "end": [token.text_id for token in end],
        "padding": indexer._tokenizer.pad_token_id or 0,
        "max_pieces": longest_window(embedder.transformer_model.config),
    }


def _shares(offsets: Value, places: Value, pooling: str) -> Value:
    """The share of each word piece in each token, (B, T, P); 0 for a token without a piece."""
    # (B, T, 1) each; -1 in both for a token without a piece.
    first, last = (offsets.gather(np.array([place]), axis=2) for place in (0, 1))
    if pooling != "mean":
        return places.equals(first if pooling == "first" else last).cast("float32")
    is_inside = (places >= first.op("Max", np.int64(0))) & (places <= last)
    return is_inside.cast("float32") / (last - first + np.int64(1)).cast("float32")


class _States(torch.nn.Module):
    """A transformer that takes word pieces and their mask, and returns states of the pieces.

    They are those of the last layer, or a weighted sum of several layers, or these side by side.
    """

    def __init__(
        self,
        transformer: torch.nn.Module,
        layers: Optional[Sequence[int]] = None,
        mix: Optional[torch.Tensor] = None,
    ) -> None:
        super().__init__()
        self.transformer = transformer
        self._layers = layers
        self._mix = None if mix is None else mix.tolist()

    def forward(self, pieces: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        arguments = {"input_ids": pieces, "attention_mask": mask}
        if self._layers is None:
            return self.transformer(**arguments).last_hidden_state
        states = self.transformer(**arguments, output_hidden_states=True).hidden_states
        chosen = [states[layer] for layer in self._layers]
        if self._mix is None:
            return torch.cat(chosen, -1)
        return sum(
            (weight * layer for weight, layer in zip(self._mix, chosen)),
            torch.zeros_like(chosen[0]),
        )


def _exported(states: _States) -> onnx.ModelProto:
    transformer, model = states.transformer, states.eval()
    # The exporter would treat equal sizes, or a size of 1, as constants.
    example = torch.ones(3, 7, dtype=torch.int64), torch.ones(3, 7)
    sizes = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program = torch.onnx.export(
                model,
                example,
                dynamic_shapes={"pieces": sizes, "mask": sizes},
                opset_version=OPSET,
                dynamo=True,
                verbose=False,
            )
    except Exception as error:  # The exporter raises many types of errors.
        raise ConfigurationError(
            f"the transformer `{type(transformer).__name__}` cannot be exported: PyTorch's exporter "
            f"says {type(error).__name__}: {str(error)[:200]}"
        ) from error
    exported = cast(onnx.ModelProto, program.model_proto)
    pack_matrices(exported.graph)
    return exported


def _rules(tokenizer: Any) -> str:
    fast = getattr(tokenizer, "backend_tokenizer", None)
    if fast is None:
        raise ConfigurationError(
            f"the tokenizer `{type(tokenizer).__name__}` cannot be exported, because it is not one of "
            f"the fast ones, which are rules in a file"
        )
    return str(fast.to_str())
