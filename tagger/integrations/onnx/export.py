"""Writes a saved tagger as one ONNX file, which runs without PyTorch and AllenNLP."""

import json
from typing import Any, Dict, List, Optional, cast

import numpy as np
import onnx
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader
from allennlp.models import Model
from allennlp.modules import Seq2SeqEncoder

from tagger.data.tokenizers import max_sentence_tokens_of, tokenizer_of
from tagger.integrations.onnx.embedders import embed
from tagger.integrations.onnx.encoders import encode, linear, type_name
from tagger.integrations.onnx.graph import Graph
from tagger.integrations.onnx.heads import add_head, describe_head
from tagger.integrations.onnx.splitting import describe_splitting
from tagger.models import SequenceTagger
from tagger_onnx.onnx_tagger import FORMAT

# A file of protocol buffers holds no more.
_MAX_BYTES = 2**31 - 1


def exported(
    model: Model, dataset_reader: DatasetReader, language: Optional[str] = None
) -> onnx.ModelProto:
    """Returns a tagger, on the CPU and in evaluation mode, as an ONNX model.

    Its inputs are `words`, (B, T) int64, the distinct word of each token; `lengths`, (B,) int64; what
    the token indexers look up; and for tags that spell entities `leak_labels`, (C,) bool.

    Its outputs are `tags`, (B, T) int64; `entity_lasts`, (B, T) int64, the last token of the entity that
    begins at each token, else -1; `entity_probabilities`, (B, T) float32, likewise; `marginals`, (B, T,
    K) float32; and of the leak labels `leak_probability` and `expected_missed`, (B,) float64. With the
    head `sigmoid` they are `labels`, (B, T, K) bool, and `marginals`. The metadata's `tagger` is JSON:
    vocabulary, tags, rules that split texts, which are the reader's if `language` is None. A part that
    cannot be exported is named in a `ConfigurationError`.
    """
    if type(model) is not SequenceTagger:
        raise ConfigurationError(
            f"a `{type_name(type(model))}` cannot be exported; expected a "
            f"`sequence_tagger`; of an ensemble, export a member"
        )
    if model.uses_documents:
        raise ConfigurationError(
            "a tagger with `document_contexts` cannot be exported; the file takes single sentences"
        )
    graph = Graph()
    words = graph.input("words", "int64", ["batch", "tokens"])
    lengths = graph.input("lengths", "int64", ["batch"])
    # (T,), (B, 1)
    places, ends = words.places(1), lengths.unsqueeze(1)
    indexers: Any = dataset_reader._token_indexers  # type: ignore[attr-defined]
    embedded, described = embed(model.text_field_embedder, indexers, model.vocab, words)
    states = encode(model.encoder, embedded, lengths)
    if model.extensions:
        inputs = embedded.op("Concat", states, axis=2)
        extensions = cast(List[Seq2SeqEncoder], list(model.extensions))
        others = [encode(extension, inputs, lengths) for extension in extensions]
        states = states.op("Concat", *others, axis=2)
    emissions = linear(model.projection, states)
    add_head(model, emissions, mask=places < ends, is_last=places.equals(ends - np.int64(1)))
    description: Dict[str, Any] = {"format": FORMAT, **describe_head(model), "indexers": described}
    description["splitting"] = describe_splitting(tokenizer_of(dataset_reader, language)[0])
    description["max_sentence_tokens"] = max_sentence_tokens_of(dataset_reader)
    return _finished(graph, description)


def _finished(graph: Graph, description: Dict[str, Any]) -> onnx.ModelProto:
    from tagger import __version__

    proto = graph.model("tagger", __version__, "A sequence tagger; `tagger_onnx` runs it.")
    entry = proto.metadata_props.add()
    entry.key, entry.value = "tagger", json.dumps(description, ensure_ascii=False)
    if proto.ByteSize() > _MAX_BYTES:
        raise ConfigurationError(
            f"the tagger takes {proto.ByteSize() / 1e9:.1f} GB, but a file of ONNX holds at most 2 GB"
        )
    onnx.checker.check_model(proto)
    return proto
