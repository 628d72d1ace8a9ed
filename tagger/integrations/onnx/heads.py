"""Heads as ONNX, which turn emissions into tags, entities and probabilities."""

from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np
import torch
from allennlp.common.checks import ConfigurationError

from tagger.integrations.onnx.chain import (
    Nodes,
    backward_scores,
    forward_scores,
    tag_marginals,
    viterbi_tags,
)
from tagger.integrations.onnx.entities import (
    add_leaks,
    corrected_probabilities,
    drop_improbable,
    entity_probabilities,
    find_entities,
)
from tagger.integrations.onnx.graph import Value
from tagger.linear_chain import ChainScores
from tagger.models import SequenceTagger
from tagger.modules.building import type_name
from tagger.modules.chain_decoder import expected_right
from tagger.modules.heads import Chain, TaggingHead
from tagger.modules.label_thresholds import thresholds_of
from tagger.spans import AMBIGUOUS
from tagger.spans.encodings import split_tag


def add_head(model: SequenceTagger, emissions: Value, mask: Value, is_last: Value) -> None:
    """Adds a model's head to emissions, (B, T, K) float32, and declares its outputs."""
    head, chain = model.head, model.head.as_chain()
    if chain is not None:
        rows = emissions, mask, is_last
        _add_chain(model, chain, *(_rows_of_chains(chain, *rows) if chain.labels_of_rows else rows))
    elif head.describe().has_label_sets:
        _add_label_sets(head, emissions, mask)
    else:
        raise ConfigurationError(
            f"the head `{type_name(type(head))}` cannot be exported; use `crf`, `label_chains`, "
            f"`softmax` or `sigmoid`"
        )


def describe_head(model: SequenceTagger) -> Dict[str, Any]:
    """Returns what a runtime must know about the head: its kind, the tags and the label of each tag."""
    labels: List[Optional[str]]
    if model.tag_encoding is None:
        labels = [None if tag == "O" else tag for tag in model.tags]
    else:
        labels = [split_tag(tag, model.tag_encoding)[1] for tag in model.tags]
    description = {"head": model.head.describe().kind, "tags": model.tags, "labels_of_tags": labels}
    chain = model.head.as_chain()
    if chain is not None and chain.labels_of_rows:
        return {**description, "num_chains": chain.rows_per_sentence}
    return description


def _rows_of_chains(
    chain: Chain, emissions: Value, mask: Value, is_last: Value
) -> Tuple[Value, Value, Value]:
    """Emissions, mask and ends of a row for each label and sentence, as `Chain.as_rows`."""
    num_chains, num_tags = chain.rows_per_sentence, len(chain.tags)
    ones = torch.ones(1, 1, num_tags)
    with torch.no_grad():
        wide, _, _ = chain.as_rows(ones, 0 * ones.long(), ones[:, :, 0].bool())
    # (C, 1, K): the factor of each emission, of which that of `O` is 0, and -inf for other labels.
    factors = wide.masked_fill(wide.isinf(), 0.0).numpy()
    offsets = (wide - wide.masked_fill(wide.isinf(), 0.0)).nan_to_num(neginf=-np.inf).numpy()

    def rows(values: Value) -> Value:
        shape = mask.graph.value(np.array([-1])).op("Concat", values.op("Shape", start=2), axis=0)
        return values.op("Reshape", shape)

    every_chain = np.ones((1, num_chains, 1), dtype=bool)
    return (
        rows(emissions.unsqueeze(1) * factors + offsets),
        rows(mask.unsqueeze(1) & every_chain),
        rows(is_last.unsqueeze(1) & every_chain),
    )


def _add_label_sets(head: TaggingHead, emissions: Value, mask: Value) -> None:
    (of_labels,) = thresholds_of(head).values()
    probabilities = emissions.op("Sigmoid")
    thresholds = of_labels.thresholds.detach().numpy()
    labels = (probabilities >= thresholds) & mask.unsqueeze(2)
    shape: Sequence[Union[int, str]] = ["batch", "tokens", len(thresholds)]
    mask.graph.output("labels", labels, "bool", shape)
    mask.graph.output("marginals", probabilities, "float32", shape)


def _add_chain(
    model: SequenceTagger, head: Chain, emissions: Value, mask: Value, is_last: Value
) -> None:
    graph, encoding, shape = mask.graph, model.tag_encoding, ["batch", "tokens"]
    emissions, (transitions, start, end) = _linear_chain(head, emissions)
    chain = Nodes(emissions.cast("float64"), mask, is_last, transitions, start, end)
    forward, backward = forward_scores(chain), backward_scores(chain)
    marginals = tag_marginals(forward, backward)
    # The bias is added in float32, as in `ChainDecoder`; a separate chain shares no other scores.
    bias = head.decoder.bias.numpy()
    scores = emissions + bias if bias.any() else emissions
    tags = _decoded(head, chain, scores, None if bias.any() else marginals)
    if encoding is not None:
        tables, entities = find_entities(tags, mask, model.tags, encoding)
        if encoding not in AMBIGUOUS:
            probabilities = entity_probabilities(
                chain, forward, backward, entities, tables, model.tags, encoding
            )
            thresholds = np.array(head.decoder.thresholds(tables.labels), dtype=np.float32)
            if thresholds.any():
                outside = model.tags.index("O")
                tags, entities = drop_improbable(tags, probabilities, entities, thresholds, outside)
            if head.recalibration is not None:
                coefficients = head.recalibration.coefficients.numpy()
                probabilities = corrected_probabilities(probabilities, entities, coefficients)
            probabilities = entities.starts.where(probabilities, np.float32(-1))
            graph.output("entity_probabilities", probabilities, "float32", shape)
        lasts = entities.starts.where(entities.lasts, np.int64(-1))
        graph.output("entity_lasts", lasts, "int64", shape)
        add_leaks(chain, tables, entities)
    graph.output("tags", tags, "int64", shape)
    marginals = marginals.cast("float32")
    graph.output("marginals", marginals, "float32", [*shape, len(model.tags)])


def _decoded(head: Chain, chain: Nodes, scores: Value, marginals: Optional[Value]) -> Value:
    """Decodes the tags, (B, T), from scores with the bias; `marginals` are given if there is no bias."""
    if head.decodes_tokens_apart:
        return chain.mask.where(scores.op("ArgMax", axis=2, keepdims=0), np.int64(0))
    biased = chain._replace(emissions=scores.cast("float64"))
    if head.decoder.decoding != "minimum_risk":
        return viterbi_tags(biased)
    if marginals is None:
        marginals = tag_marginals(forward_scores(biased), backward_scores(biased))
    nothing = torch.zeros(1, 1, len(chain.start))
    constants = map(torch.from_numpy, (chain.transitions, chain.start, chain.end))
    possible = expected_right(ChainScores(nothing, *constants), nothing)
    transitions, start, end = (each.double().numpy() for each in possible[1:])
    # `tagger.linear_chain` returns marginals in the type of the emissions.
    rounded = marginals.cast("float32").cast("float64")
    return viterbi_tags(Nodes(rounded, chain.mask, chain.is_last, transitions, start, end))


def _linear_chain(head: Chain, emissions: Value) -> Tuple[Value, Tuple[np.ndarray, ...]]:
    """Returns the emissions of a head's chain, (B, T, K) float32, and its transitions, start and end."""
    num_tags = len(head.decoder.bias)
    with torch.no_grad():
        of_zeros, of_ones, of_twos = (
            head.chain_scores(torch.full((1, 1, num_tags), value)) for value in (0.0, 1.0, 2.0)
        )
    # A weighting may scale emissions in decoding.
    scale = of_ones.emissions
    if of_zeros.emissions.any() or not torch.equal(of_twos.emissions, 2 * scale):
        raise ConfigurationError(
            f"the head `{type_name(type(head))}` cannot be exported, because it changes emissions by "
            f"more than a factor for each tag"
        )
    if (scale != 1).any():
        emissions = emissions * scale.numpy()
    return emissions, tuple(each.detach().double().numpy() for each in of_zeros[1:])
