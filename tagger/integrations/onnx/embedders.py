"""Token embedders as ONNX, each with a description of the lookups that its indexer needs at run time.

At run time, each of the W distinct words in a batch is embedded once; only transformers see sentences.
"""

from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

import numpy as np
from allennlp.common.checks import ConfigurationError
from allennlp.data import TokenIndexer, Vocabulary
from allennlp.data.token_indexers import (
    PretrainedTransformerMismatchedIndexer,
    SingleIdTokenIndexer,
    TokenCharactersIndexer,
)
from allennlp.data.token_indexers.single_id_token_indexer import _DEFAULT_VALUE
from allennlp.modules import TextFieldEmbedder
from allennlp.modules.text_field_embedders import BasicTextFieldEmbedder
from allennlp.modules.token_embedders import (
    Embedding,
    PretrainedTransformerMismatchedEmbedder,
    TokenCharactersEncoder,
)

from tagger.data.token_indexers.cached_characters import MAX_CHARACTERS, CachedCharactersIndexer
from tagger.data.token_indexers.word_forms import WordFormsIndexer
from tagger.data.token_indexers.word_shapes import WordShapesIndexer
from tagger.integrations.onnx.encoders import linear, pool
from tagger.integrations.onnx.graph import Graph, Value
from tagger.integrations.onnx.transformer import embed_with_transformer
from tagger.modules.building import type_name
from tagger.modules.token_embedders.distinct_characters_encoder import DistinctCharactersEncoder
from tagger.modules.token_embedders.frozen_transformer import FrozenTransformerEmbedder
from tagger.modules.token_embedders.hash_table import HashTable
from tagger.modules.token_embedders.numbers import NumbersEmbedder
from tagger.modules.token_embedders.transformer import TransformerEmbedder
from tagger.modules.token_embedders.word_vectors import WordVectors
from tagger.transformers.frozen_transformer_indexer import FrozenTransformerIndexer
from tagger.transformers.transformer_indexer import TransformerIndexer

# AllenNLP's vocabularies start with padding, then the unknown word.
_UNKNOWN = np.int64(1)

#: What the runtime must know about an indexer, by field name.
Description = Dict[str, Any]


class Feed(NamedTuple):
    """The parts of a tagger that are needed to export one of its embedders."""

    name: str
    indexer: Any
    vocab: Vocabulary

    def check(self, is_fine: bool, indexer: str, argument: str) -> None:
        """Refuses an indexer argument that the runtime does not support."""
        if not is_fine:
            raise ConfigurationError(
                f"the token indexer `{indexer}` with its argument `{argument}` cannot be exported; "
                f"leave it out"
            )

    def vocabulary(self, namespace: Any) -> List[str]:
        """Returns the tokens of a namespace in index order, starting with the padding at 0."""
        by_index = self.vocab.get_index_to_token_vocabulary(namespace) if namespace else {}
        if by_index.get(int(_UNKNOWN)) != self.vocab._oov_token:
            raise ConfigurationError(
                f"the vocabulary's namespace `{namespace}` has no index for unknown words, so it cannot "
                f"be exported"
            )
        return [by_index[index] for index in range(len(by_index))]


def embed(
    embedder: TextFieldEmbedder, indexers: Dict[str, TokenIndexer], vocab: Vocabulary, words: Value
) -> Tuple[Value, Dict[str, Description]]:
    """Embeds tokens, given as indices of words, (B, T), as (B, T, D), and describes the indexers.

    `words` may be numbers, (B, T, D), instead; then there are no indexers.
    """
    if type(embedder) is not BasicTextFieldEmbedder:
        raise ConfigurationError(
            f"the text field embedder `{type_name(type(embedder))}` cannot be exported; use `basic`"
        )
    embedded, descriptions = [], {}
    for name in embedder._ordered_embedder_keys:
        own = embedder._token_embedders[name]
        if isinstance(own, NumbersEmbedder):
            embedded.append(_standardised(own, words))
            continue
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
        vectors, descriptions[name] = add(words.graph, own, Feed(name, indexer, vocab))
        is_of_words = add is not embed_with_transformer
        embedded.append(vectors.gather(words) if is_of_words else vectors)
    return embedded[0].op("Concat", *embedded[1:], axis=2), descriptions


def _standardised(embedder: NumbersEmbedder, numbers: Value) -> Value:
    """See `NumbersEmbedder.forward`."""
    means, scales = (each.float().numpy() for each in (embedder.means, embedder.scales))
    standardised = (numbers - means) / scales
    return standardised.op("IsNaN").where(np.float32(0), standardised)


def _embed_ids(graph: Graph, embedder: Embedding, part: Feed) -> Tuple[Value, Description]:
    indexer = part.indexer
    reads_text = indexer._feature_name == "text" and indexer._default_value is _DEFAULT_VALUE
    part.check(reads_text, "single_id", "feature_name")
    part.check(not (indexer._start_tokens or indexer._end_tokens), "single_id", "start_tokens")
    ids = graph.input(f"{part.name}_ids", "int64", ["words"])
    return _looked_up(embedder, ids), {
        "kind": "shapes" if isinstance(indexer, WordShapesIndexer) else "ids",
        "lowercase": bool(indexer.lowercase_tokens),
        "vocabulary": part.vocabulary(indexer.namespace),
    }


def _looked_up(embedder: Embedding, ids: Value) -> Value:
    if embedder.max_norm is not None:
        raise ConfigurationError(
            "an `embedding` with a `max_norm` cannot be exported; leave it out"
        )
    vectors = ids.select(embedder.weight.detach().numpy())
    return linear(embedder._projection, vectors) if embedder._projection else vectors


def _embed_characters(
    graph: Graph, embedder: TokenCharactersEncoder, part: Feed
) -> Tuple[Value, Description]:
    characters = graph.input(f"{part.name}_characters", "int64", ["words", "characters"])
    (embedding, encoder) = (each._module for each in (embedder._embedding, embedder._encoder))
    mask = ~characters.equals(np.int64(0))
    vectors = pool(encoder, _looked_up(embedding, characters), mask)
    widths = [each.kernel_size[0] for each in getattr(encoder, "_convolution_layers", [])]
    indexer = part.indexer
    # Our tokenizer caches the results of AllenNLP's and wraps it.
    tokenizer = getattr(indexer._character_tokenizer, "_tokenizer", indexer._character_tokenizer)
    is_ours = tokenizer is not indexer._character_tokenizer
    part.check(tokenizer._byte_encoding is None, "characters", "byte_encoding")
    added = [*tokenizer._start_tokens, *tokenizer._end_tokens]
    added += [*indexer._start_tokens, *indexer._end_tokens]
    part.check(not added, "characters", "start_tokens")
    return vectors, {
        "kind": "characters",
        "lowercase": bool(tokenizer._lowercase_characters),
        "min_length": max(indexer._min_padding_length, *widths, 1),
        "max_length": MAX_CHARACTERS if is_ours else None,
        "vocabulary": part.vocabulary(indexer._namespace),
    }


def _embed_forms(graph: Graph, embedder: WordVectors, part: Feed) -> Tuple[Value, Description]:
    """See `WordVectors.forward`."""
    indices = graph.input(f"{part.name}_indices", "int64", ["words", 3])
    hashes = graph.input(f"{part.name}_hashes", "int64", ["words", 3])
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
    namespace = part.indexer._namespace
    return vectors, {
        "kind": "forms",
        "lowercase": part.indexer._lowercase,
        "vocabulary": [] if namespace is None else part.vocabulary(namespace),
    }


def find(table: HashTable, hashes: Value) -> Value:
    """Finds the rows of int64 hashes by binary search; -1 where the table does not have the hash."""
    num_rows = len(table)
    # The last row with a hash not above the wanted one, or row 0.
    row = hashes * np.int64(0)
    if num_rows == 0:
        return row - np.int64(1)
    known = hashes.graph.value(table.hashes.numpy())
    for step in (1 << bit for bit in reversed(range(num_rows.bit_length()))):
        next_row = row + np.int64(step)
        is_below = known.gather(next_row.op("Min", np.int64(num_rows - 1))) <= hashes
        row = ((next_row < np.int64(num_rows)) & is_below).where(next_row, row)
    return known.gather(row).equals(hashes).where(row, np.int64(-1))


_Adder = Callable[[Graph, Any, Feed], Tuple[Value, Description]]

# For each type of embedder, the function that adds it and the indexers that it supports.
_EMBEDDERS: Dict[type, Tuple[Optional[_Adder], Tuple[type, ...]]] = {
    DistinctCharactersEncoder: (
        _embed_characters,
        (CachedCharactersIndexer, TokenCharactersIndexer),
    ),
    Embedding: (_embed_ids, (SingleIdTokenIndexer, WordShapesIndexer)),
    FrozenTransformerEmbedder: (embed_with_transformer, (FrozenTransformerIndexer,)),
    PretrainedTransformerMismatchedEmbedder: (
        embed_with_transformer,
        (PretrainedTransformerMismatchedIndexer,),
    ),
    TokenCharactersEncoder: (_embed_characters, (CachedCharactersIndexer, TokenCharactersIndexer)),
    TransformerEmbedder: (embed_with_transformer, (TransformerIndexer,)),
    WordVectors: (_embed_forms, (WordFormsIndexer,)),
}
