"""Token embedders as ONNX, each with its indexer, which says what the runtime must look up.

A runtime gives each distinct word of a batch once, as a row of W words; only transformers see sentences.

Letters: `B` batch, `T` tokens, `W` distinct words, `F` forms of a word, `C` characters, `D` features.
"""

from typing import Any, Callable, Dict, NamedTuple, Optional, Tuple

import numpy as np
from allennlp.common.checks import ConfigurationError
from allennlp.data import TokenIndexer, Vocabulary
from allennlp.data.token_indexers import (
    PretrainedTransformerMismatchedIndexer,
    SingleIdTokenIndexer,
    TokenCharactersIndexer,
)
from allennlp.modules import TextFieldEmbedder
from allennlp.modules.text_field_embedders import BasicTextFieldEmbedder
from allennlp.modules.token_embedders import (
    Embedding,
    PretrainedTransformerMismatchedEmbedder,
    TokenCharactersEncoder,
)

from tagger.data.token_indexers import CachedCharactersIndexer, WordFormsIndexer, WordShapesIndexer
from tagger.integrations.onnx.encoders import linear, pool, type_name
from tagger.integrations.onnx.graph import Graph
from tagger.integrations.onnx.indexers import (
    describe_characters,
    describe_forms,
    describe_single_id,
)
from tagger.integrations.onnx.transformer import embed_with_transformer
from tagger.modules.token_embedders import (
    DistinctCharactersEncoder,
    TransformerEmbedder,
    WordVectors,
)
from tagger.modules.token_embedders.hash_table import HashTable
from tagger.transformers.transformer_indexer import TransformerIndexer

# AllenNLP's vocabularies start with padding and the unknown word.
_UNKNOWN = np.int64(1)

#: What the runtime must know of an indexer, by name.
Description = Dict[str, Any]


class Part(NamedTuple):
    """One of a tagger's embedders, with what it needs."""

    name: str
    indexer: TokenIndexer
    vocab: Vocabulary


def embed(
    graph: Graph,
    embedder: TextFieldEmbedder,
    indexers: Dict[str, TokenIndexer],
    vocab: Vocabulary,
    words: str,
) -> Tuple[str, Dict[str, Description]]:
    """Embeds the tokens, (B, T, D), and describes the indexers.

    Args:
        graph: The graph.
        embedder: The embedder.
        indexers: The dataset reader's indexers, by name.
        vocab: The vocabulary.
        words: (B, T) int64, which of the W distinct words each token is.
    """
    if type(embedder) is not BasicTextFieldEmbedder:
        raise ConfigurationError(
            f"the text field embedder `{type_name(type(embedder))}` cannot be exported; use `basic`"
        )
    embedded, descriptions = [], {}
    for name in embedder._ordered_embedder_keys:
        own = embedder._token_embedders[name]
        kinds: Tuple[type, ...]
        add, kinds = _EMBEDDERS.get(type(own), (None, ()))
        if add is None:
            raise ConfigurationError(
                f"the token embedder `{name}`, a `{type_name(type(own))}`, cannot be exported; use "
                f"{', '.join(sorted(map(type_name, _EMBEDDERS)))}"
            )
        indexer = indexers[name]
        if type(indexer) not in kinds:
            raise ConfigurationError(
                f"the token indexer `{name}`, a `{type_name(type(indexer))}`, cannot be exported with a "
                f"`{type_name(type(own))}`; use {', '.join(map(type_name, kinds))}"
            )
        vectors, descriptions[name] = add(graph, own, Part(name, indexer, vocab))
        is_of_words = add is not _embed_with_transformer
        embedded.append(graph.add("Gather", vectors, words) if is_of_words else vectors)
    joined = graph.add("Concat", *embedded, axis=2) if len(embedded) > 1 else embedded[0]
    return joined, descriptions


def _embed_ids(graph: Graph, embedder: Embedding, part: Part) -> Tuple[str, Description]:
    ids = graph.input(f"{part.name}_ids", "int64", ["words"])
    assert isinstance(part.indexer, SingleIdTokenIndexer)
    return _looked_up(graph, embedder, ids), describe_single_id(part.indexer, part.vocab)


def _looked_up(graph: Graph, embedder: Embedding, ids: str) -> str:
    if embedder.max_norm is not None:
        raise ConfigurationError(
            "an `embedding` with a `max_norm` cannot be exported; leave it out"
        )
    vectors = graph.add("Gather", embedder.weight.detach().numpy(), ids)
    return linear(graph, embedder._projection, vectors) if embedder._projection else vectors


def _embed_characters(
    graph: Graph, embedder: TokenCharactersEncoder, part: Part
) -> Tuple[str, Description]:
    characters = graph.input(f"{part.name}_characters", "int64", ["words", "characters"])
    (embedding, encoder) = (each._module for each in (embedder._embedding, embedder._encoder))
    mask = graph.add("Not", graph.add("Equal", characters, np.int64(0)))
    vectors = pool(graph, encoder, _looked_up(graph, embedding, characters), mask)
    assert isinstance(part.indexer, TokenCharactersIndexer)
    widths = [each.kernel_size[0] for each in getattr(encoder, "_convolution_layers", [])]
    return vectors, describe_characters(part.indexer, part.vocab, max(widths, default=1))


def _embed_forms(graph: Graph, embedder: WordVectors, part: Part) -> Tuple[str, Description]:
    """See `WordVectors.forward`."""
    indices = graph.input(f"{part.name}_indices", "int64", ["words", 3])
    hashes = graph.input(f"{part.name}_hashes", "int64", ["words", 3])
    assert isinstance(part.indexer, WordFormsIndexer)
    is_trained = graph.add("Not", graph.add("Equal", indices, _UNKNOWN))
    rows = find(graph, embedder.table, hashes)
    has_vector = graph.add("GreaterOrEqual", rows, np.int64(0))
    has_vector = graph.add("Cast", graph.add("Or", is_trained, has_vector), to=6)
    # (W, 1): the first form that has a vector
    first = graph.add("ArgMax", has_vector, axis=1, keepdims=1)
    is_known = graph.add("ReduceMax", has_vector, np.array([1]), keepdims=1)
    is_known = graph.add("Cast", is_known, to=9)

    def of_first(values: str) -> str:
        return graph.add("GatherElements", values, first, axis=1)

    is_own = graph.add("Cast", of_first(graph.add("Cast", is_trained, to=6)), to=9)
    from_table = graph.add("And", is_known, graph.add("Not", is_own))
    is_own = graph.add("And", is_known, is_own)
    own = graph.add("Where", is_own, of_first(indices), _UNKNOWN)
    own = graph.add("Squeeze", own, np.array([1]))
    vectors = graph.add("Gather", embedder.trained.weight.detach().numpy(), own)
    if len(embedder.table):
        row = graph.add("Squeeze", graph.add("Max", of_first(rows), np.int64(0)), np.array([1]))
        kept = graph.add("Gather", embedder.table.rows.numpy(), row)
        vectors = graph.add("Where", from_table, graph.add("Cast", kept, to=1), vectors)
    return vectors, describe_forms(part.indexer, part.vocab)


def find(graph: Graph, table: HashTable, hashes: str) -> str:
    """The rows of hashes, int64 of their shape, -1 for those that the table lacks: a binary search."""
    num_rows = len(table)
    if num_rows == 0:
        return graph.add("Sub", graph.add("Mul", hashes, np.int64(0)), np.int64(1))
    known = graph.value(table.hashes.numpy())
    # The last row whose hash is at most the one that is looked for, or row 0.
    row = graph.add("Mul", hashes, np.int64(0))
    for step in (1 << bit for bit in reversed(range(num_rows.bit_length()))):
        next_row = graph.add("Add", row, np.int64(step))
        exists = graph.add("Less", next_row, np.int64(num_rows))
        safe = graph.add("Min", next_row, np.int64(num_rows - 1))
        is_below = graph.add("LessOrEqual", graph.add("Gather", known, safe), hashes)
        row = graph.add("Where", graph.add("And", exists, is_below), next_row, row)
    is_found = graph.add("Equal", graph.add("Gather", known, row), hashes)
    return graph.add("Where", is_found, row, np.int64(-1))


def _embed_with_transformer(graph: Graph, embedder: Any, part: Part) -> Tuple[str, Description]:
    indexer: Any = part.indexer
    return embed_with_transformer(graph, embedder, indexer, part.name)


_Adder = Callable[[Graph, Any, Part], Tuple[str, Description]]

# By the embedder's type, what adds it, and the indexers that fit.
_EMBEDDERS: Dict[type, Tuple[Optional[_Adder], Tuple[type, ...]]] = {
    DistinctCharactersEncoder: (
        _embed_characters,
        (CachedCharactersIndexer, TokenCharactersIndexer),
    ),
    Embedding: (_embed_ids, (SingleIdTokenIndexer, WordShapesIndexer)),
    PretrainedTransformerMismatchedEmbedder: (
        _embed_with_transformer,
        (PretrainedTransformerMismatchedIndexer,),
    ),
    TokenCharactersEncoder: (_embed_characters, (CachedCharactersIndexer, TokenCharactersIndexer)),
    TransformerEmbedder: (_embed_with_transformer, (TransformerIndexer,)),
    WordVectors: (_embed_forms, (WordFormsIndexer,)),
}
