"""A pretrained transformer as ONNX, converted by PyTorch's exporter."""

import logging
import warnings
from typing import Any, Dict, List, Tuple, cast

import numpy as np
import onnx
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data.token_indexers import PretrainedTransformerMismatchedIndexer
from allennlp.modules.token_embedders import PretrainedTransformerEmbedder

from tagger.integrations.onnx.graph import OPSET, Graph, Value
from tagger.modules.token_embedders.transformer import TransformerEmbedder
from tagger.transformers.transformer_indexer import TransformerIndexer
from tagger.transformers.windows import longest_window


def embed_with_transformer(graph: Graph, embedder: Any, part: Any) -> Tuple[Value, Dict[str, Any]]:
    """Embeds tokens with a transformer over their word pieces, and describes the indexer."""
    if isinstance(embedder, TransformerEmbedder):
        transformer, pooling = embedder.transformer_model, embedder.pooling
        description = _describe(part.indexer)
    else:
        transformer = embedder._matched_embedder.transformer_model
        pooling = "mean" if embedder.sub_token_mode == "avg" else "first"
        description = _describe_allennlps(embedder._matched_embedder, part.indexer)
    pieces = graph.input(f"{part.name}_pieces", "int64", ["batch", "pieces"])
    num_pieces = graph.input(f"{part.name}_num_pieces", "int64", ["batch"])
    offsets = graph.input(f"{part.name}_offsets", "int64", ["batch", "tokens", 2])
    # (P,), (B, P)
    places = pieces.places(1)
    mask = (places < num_pieces.unsqueeze(1)).cast("float32")
    vectors = graph.take_in(_exported(transformer), [pieces, mask])
    return _shares(offsets, places, pooling).op("MatMul", vectors), {
        "kind": "pieces",
        **description,
    }


def _describe(indexer: TransformerIndexer) -> Dict[str, Any]:
    """Describes the indexer. The runtime reads a text in one window and refuses longer ones."""
    pieces = indexer.word_pieces
    start, end = pieces.start_pieces, pieces.end_pieces
    return {
        "tokenizer": _rules(indexer.tokenizer),
        "start": start,
        "end": end,
        "padding": pieces.padding,
        # The pieces for a word that has none.
        "unknown": pieces([""])[0],
        "max_pieces": len(start) + indexer.max_pieces + len(end),
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


class _LastLayer(torch.nn.Module):
    """A transformer that takes word pieces and their mask and returns only its last layer."""

    def __init__(self, transformer: torch.nn.Module) -> None:
        super().__init__()
        self.transformer = transformer

    def forward(self, pieces: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return self.transformer(input_ids=pieces, attention_mask=mask).last_hidden_state


def _exported(transformer: torch.nn.Module) -> onnx.ModelProto:
    model = _LastLayer(transformer).eval()
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
    return cast(onnx.ModelProto, program.model_proto)


def _rules(tokenizer: Any) -> str:
    fast = getattr(tokenizer, "backend_tokenizer", None)
    if fast is None:
        raise ConfigurationError(
            f"the tokenizer `{type(tokenizer).__name__}` cannot be exported, because it is not one of "
            f"the fast ones, which are rules in a file"
        )
    return str(fast.to_str())
