"""Token embedders as ONNX, each with its indexer, which says what the runtime must look up.

A runtime gives each distinct word of a batch once, as a row of W words; only transformers see sentences.
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
from tagger.integrations.onnx.graph import Graph, Value
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
    embedder: TextFieldEmbedder, indexers: Dict[str, TokenIndexer], vocab: Vocabulary, words: Value
) -> Tuple[Value, Dict[str, Description]]:
    """Embeds the tokens, (B, T, D), of which `words`, (B, T), says the word, and describes indexers."""
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
        vectors, descriptions[name] = add(words.graph, own, Part(name, indexer, vocab))
        is_of_words = add is not _embed_pieces
        embedded.append(vectors.gather(words) if is_of_words else vectors)
    return embedded[0].op("Concat", *embedded[1:], axis=2), descriptions


def _embed_ids(graph: Graph, embedder: Embedding, part: Part) -> Tuple[Value, Description]:
    ids = graph.input(f"{part.name}_ids", "int64", ["words"])
    assert isinstance(part.indexer, SingleIdTokenIndexer)
    return _looked_up(embedder, ids), describe_single_id(part.indexer, part.vocab)


def _looked_up(embedder: Embedding, ids: Value) -> Value:
    if embedder.max_norm is not None:
        raise ConfigurationError(
            "an `embedding` with a `max_norm` cannot be exported; leave it out"
        )
    vectors = ids.select(embedder.weight.detach().numpy())
    return linear(embedder._projection, vectors) if embedder._projection else vectors


def _embed_characters(
    graph: Graph, embedder: TokenCharactersEncoder, part: Part
) -> Tuple[Value, Description]:
    characters = graph.input(f"{part.name}_characters", "int64", ["words", "characters"])
    (embedding, encoder) = (each._module for each in (embedder._embedding, embedder._encoder))
    mask = ~characters.equals(np.int64(0))
    vectors = pool(encoder, _looked_up(embedding, characters), mask)
    assert isinstance(part.indexer, TokenCharactersIndexer)
    widths = [each.kernel_size[0] for each in getattr(encoder, "_convolution_layers", [])]
    return vectors, describe_characters(part.indexer, part.vocab, max(widths, default=1))


def _embed_forms(graph: Graph, embedder: WordVectors, part: Part) -> Tuple[Value, Description]:
    """See `WordVectors.forward`."""
    indices = graph.input(f"{part.name}_indices", "int64", ["words", 3])
    hashes = graph.input(f"{part.name}_hashes", "int64", ["words", 3])
    assert isinstance(part.indexer, WordFormsIndexer)
    is_trained = ~indices.equals(_UNKNOWN)
    rows = find(embedder.table, hashes)
    has_vector = (is_trained | (rows >= np.int64(0))).cast("int32")
    # (W, 1): the first form that has a vector
    first = has_vector.op("ArgMax", axis=1, keepdims=1)
    is_known = has_vector.reduce("Max", 1, keepdims=True).cast("bool")
    is_own = is_trained.cast("int32").take_along(first).cast("bool")
    from_table = is_known & ~is_own
    own = (is_known & is_own).where(indices.take_along(first), _UNKNOWN).squeeze(1)
    vectors = own.select(embedder.trained.weight.detach().numpy())
    if len(embedder.table):
        row = rows.take_along(first).op("Max", np.int64(0)).squeeze(1)
        kept = row.select(embedder.table.rows.numpy()).cast("float32")
        vectors = from_table.where(kept, vectors)
    return vectors, describe_forms(part.indexer, part.vocab)


def find(table: HashTable, hashes: Value) -> Value:
    """The rows of hashes, int64 of their shape, -1 for those that the table lacks: a binary search."""
    num_rows = len(table)
    # The last row whose hash is at most the one that is looked for, or row 0.
    row = hashes * np.int64(0)
    if num_rows == 0:
        return row - np.int64(1)
    known = hashes.graph.value(table.hashes.numpy())
    for step in (1 << bit for bit in reversed(range(num_rows.bit_length()))):
        next_row = row + np.int64(step)
        is_below = known.gather(next_row.op("Min", np.int64(num_rows - 1))) <= hashes
        row = ((next_row < np.int64(num_rows)) & is_below).where(next_row, row)
    return known.gather(row).equals(hashes).where(row, np.int64(-1))


def _embed_pieces(graph: Graph, embedder: Any, part: Part) -> Tuple[Value, Description]:
    return embed_with_transformer(graph, embedder, part.indexer, part.name)


_Adder = Callable[[Graph, Any, Part], Tuple[Value, Description]]

# By the embedder's type, what adds it, and the indexers that fit.
_EMBEDDERS: Dict[type, Tuple[Optional[_Adder], Tuple[type, ...]]] = {
    DistinctCharactersEncoder: (
        _embed_characters,
        (CachedCharactersIndexer, TokenCharactersIndexer),
    ),
    Embedding: (_embed_ids, (SingleIdTokenIndexer, WordShapesIndexer)),
    PretrainedTransformerMismatchedEmbedder: (
        _embed_pieces,
        (PretrainedTransformerMismatchedIndexer,),
    ),
    TokenCharactersEncoder: (_embed_characters, (CachedCharactersIndexer, TokenCharactersIndexer)),
    TransformerEmbedder: (_embed_pieces, (TransformerIndexer,)),
    WordVectors: (_embed_forms, (WordFormsIndexer,)),
}
