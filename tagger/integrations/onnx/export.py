"""Writes a saved tagger as one ONNX file that runs without PyTorch and AllenNLP."""

import json
import re
from typing import Any, Dict, List, Optional, cast

import numpy as np
import onnx
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Tokenizer
from allennlp.models import Model
from allennlp.modules import Seq2SeqEncoder

from tagger.common.version import __version__
from tagger.data import NumericSequencesDatasetReader
from tagger.data.tokenizers import (
    LanguageRulesTokenizer,
    SegmentTokenizer,
    max_sentence_tokens_of,
    tokenizer_of,
)
from tagger.integrations.onnx.embedders import embed
from tagger.integrations.onnx.encoders import encode, linear
from tagger.integrations.onnx.graph import Graph
from tagger.integrations.onnx.heads import add_head, describe_head
from tagger.models import SequenceTagger
from tagger.modules.building import type_name
from tagger_onnx.onnx_tagger import FORMAT
from tagger_texts.segments import PATTERNS, SEQUENCES

# The size limit of a protocol buffer.
_MAX_BYTES = 2**31 - 1


def exported(
    model: Model, dataset_reader: DatasetReader, language: Optional[str] = None
) -> onnx.ModelProto:
    """Converts a tagger, on the CPU and in evaluation mode, to an ONNX model.

    The inputs are `words`, (B, T) int64, the index of each token among the distinct words; `lengths`,
    (B,) int64; the results of the token indexers' lookups; and `leak_labels`, (C,) bool, for tags that
    spell entities.

    A tagger of numbers has `numbers`, (B, T, D) float32, instead of `words`.

    The outputs are `tags`, (B, T) int64; `entity_lasts`, (B, T) int64, the last token of the entity that
    begins at each token, or -1; `entity_probabilities`, (B, T) float32, for the same entities;
    `marginals`, (B, T, K) float32; and `leak_probability` and `expected_missed`, (B,) float64, for the
    leak labels. The head `sigmoid` has only `labels`, (B, T, K) bool, and `marginals`. The metadata
    entry `tagger` is JSON with the vocabulary, the tags and the rules for splitting texts, which come
    from the reader if `language` is None. Raises a `ConfigurationError` for unsupported parts.
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
    numbers = dataset_reader if isinstance(dataset_reader, NumericSequencesDatasetReader) else None
    if numbers is not None:
        size = len(numbers.number_columns)
        words = graph.input("numbers", "float32", ["batch", "tokens", size])
    else:
        words = graph.input("words", "int64", ["batch", "tokens"])
    lengths = graph.input("lengths", "int64", ["batch"])
    # (T,), (B, 1)
    places, ends = words.places(1), lengths.unsqueeze(1)
    indexers: Any = getattr(dataset_reader, "_token_indexers", {})
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
    if numbers is not None:
        description["numbers"] = [size, numbers.window, numbers.overlap]
    return _finished(graph, description)


def _finished(graph: Graph, description: Dict[str, Any]) -> onnx.ModelProto:
    proto = graph.model("tagger", __version__, "A sequence tagger; `tagger_onnx` runs it.")
    entry = proto.metadata_props.add()
    entry.key, entry.value = "tagger", json.dumps(description, ensure_ascii=False)
    if proto.ByteSize() > _MAX_BYTES:
        raise ConfigurationError(
            f"the tagger takes {proto.ByteSize() / 1e9:.1f} GB, but a file of ONNX holds at most 2 GB"
        )
    onnx.checker.check_model(proto)
    return proto


def describe_splitting(tokenizer: Tokenizer) -> Dict[str, Any]:
    """Returns the arguments of the `Splitter` of `tagger_onnx`."""
    if isinstance(tokenizer, SegmentTokenizer):
        return {"type": tokenizer.name, "pattern": PATTERNS[tokenizer.name]}
    if isinstance(tokenizer, LanguageRulesTokenizer):
        return {"type": "language_rules", **_rules(tokenizer.language)}
    raise ConfigurationError(
        f"texts are split by {tokenizer}, which cannot be exported; export with `--language xx`, and "
        "give lists of tokens instead of texts"
    )


def _rules(language: str) -> Dict[str, Any]:
    import spacy
    from spacy.attrs import ORTH
    from spacy.tokenizer import Tokenizer as RuleTokenizer

    try:
        tokenizer: Any = spacy.blank(language).tokenizer
    except ImportError as error:
        raise ConfigurationError(
            f"`language` is {language!r}, which spaCy does not offer here: {error}"
        ) from error
    exceptions = {
        text: [token[ORTH] for token in tokens]
        for text, tokens in (tokenizer.rules if type(tokenizer) is RuleTokenizer else {}).items()
        if not text.isspace()
    }
    has_blanks = any(any(map(str.isspace, text)) for text in exceptions)
    if type(tokenizer) is not RuleTokenizer or has_blanks:
        raise ConfigurationError(
            f"`language` is {language!r}, and spaCy splits its texts by more than rules for words, "
            f"which cannot be exported; export with `xx`, and give lists of tokens instead of texts"
        )
    return {
        "language": language,
        "prefix": _pattern(tokenizer.prefix_search),
        "suffix": _pattern(tokenizer.suffix_search),
        "infix": _pattern(tokenizer.infix_finditer),
        "token": _pattern(tokenizer.token_match),
        "url": _pattern(tokenizer.url_match),
        "emoji": SEQUENCES,
        "exceptions": exceptions,
    }


def _pattern(method: Any) -> Optional[Dict[str, Any]]:
    """Returns the pattern behind a bound method of a regular expression, or None."""
    if method is None:
        return None
    expression: re.Pattern = method.__self__
    return {"pattern": expression.pattern, "ignore_case": bool(expression.flags & re.IGNORECASE)}
