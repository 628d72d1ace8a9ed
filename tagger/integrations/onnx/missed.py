"""What a prediction misses, as ONNX: see `tagger.spans.missed`.

Letters: `B` batch, `T` tokens, `S` states, `C` labels.
"""

from typing import List, Tuple

import numpy as np
import torch

from tagger.integrations.onnx.chain import (
    Chain,
    backward_scores,
    forward_scores,
    log_partition,
    log_sum,
    log_sums,
    zeros_like_first,
)
from tagger.integrations.onnx.entities import FoundEntities
from tagger.integrations.onnx.graph import Graph
from tagger.linear_chain import ChainScores
from tagger.spans.finding import TagTables
from tagger.spans.missed import States, placed_chain


def add_missed(graph: Graph, chain: Chain, tables: TagTables, entities: FoundEntities) -> None:
    """Declares the outputs `leak_probability` and `expected_missed`, (B,) float64.

    They are about the labels that the input `leak_labels`, (C,) bool, marks. If it marks none, both are
    0 and cost no time.
    """
    is_wanted = graph.input("leak_labels", "bool", [len(tables.labels)])
    nothing = torch.zeros(1, 1, len(chain.start), dtype=torch.float64)
    constants = map(torch.from_numpy, (chain.transitions, chain.start, chain.end))
    placed, states = placed_chain(tables, ChainScores(nothing, *constants))

    def missed(body: Graph) -> List[str]:
        emissions = body.add("Gather", chain.emissions, states.tags, axis=2)
        transitions, start, end = (each.numpy() for each in placed[1:])
        of_states = Chain(emissions, chain.mask, chain.is_last, transitions, start, end, True)
        return list(_missed(body, of_states, states, entities, is_wanted))

    def nothing_missed(body: Graph) -> List[str]:
        zeros = body.add("ConstantOfShape", body.add("Shape", chain.mask, end=1))
        return [body.add("Cast", zeros, to=11)] * 2

    any_wanted = graph.add("Cast", is_wanted, to=6)
    any_wanted = graph.add("Cast", graph.add("ReduceMax", any_wanted, keepdims=0), to=9)
    found = graph.choose(any_wanted, missed, nothing_missed, dtype="float64")
    for name, value in zip(("leak_probability", "expected_missed"), found):
        graph.output(name, value, "float64", ["batch"])


def _missed(
    graph: Graph, chain: Chain, states: States, entities: FoundEntities, is_wanted: str
) -> Tuple[str, str]:
    """See `MissFinder`, for a chain over states."""
    # (S,); outside, the label is -1.
    is_counted = graph.add("Concat", is_wanted, np.array([False]), axis=0)
    is_counted = graph.add("Gather", is_counted, states.labels)
    # (B, T, S): the states of tokens in their places of predicted entities
    is_predicted = graph.value(np.array(True))
    of_tokens = (entities.labels, entities.starts, entities.is_end)
    for values, of_states in zip(of_tokens, (states.labels, states.opens, states.closes)):
        is_same = graph.add("Equal", graph.add("Unsqueeze", values, np.array([2])), of_states)
        is_predicted = graph.add("And", is_predicted, is_same)
    allowed = graph.add("Or", is_predicted, graph.add("Not", is_counted))
    possible = graph.add("Where", allowed, chain.emissions, np.float64(-np.inf))
    restricted = chain._replace(emissions=possible)

    forward, backward = forward_scores(graph, chain), backward_scores(graph, chain)
    # (B, 1)
    total = log_partition(graph, chain, backward)
    none = log_partition(graph, restricted, backward_scores(graph, restricted))
    none = graph.add("Min", graph.add("Sub", none, total), np.float64(0))
    leak = graph.add("Sub", np.float64(1), graph.add("Exp", none))

    # (B, T, S): how probable it is that a counted entity begins
    opening = graph.add("And", graph.add("Unsqueeze", chain.mask, np.array([2])), states.opens)
    opening = graph.add("And", opening, is_counted)
    begins = graph.add("Add", forward, backward)
    begins = _probabilities(graph, begins, graph.add("Unsqueeze", total, np.array([2])), opening)
    expected = graph.add("ReduceSum", begins, np.array([1, 2]), keepdims=0)
    # (B, T): how probable is the predicted entity that ends here
    messages = _messages(graph, chain, forward, is_predicted, entities.starts)
    ended = log_sum(graph, graph.add("Add", messages, backward), keepdims=0)
    is_end = graph.add("Gather", is_wanted, graph.add("Max", entities.labels, np.int64(0)))
    is_end = graph.add("And", entities.is_end, is_end)
    predicted = _probabilities(graph, ended, total, is_end)
    predicted = graph.add("ReduceSum", predicted, np.array([1]), keepdims=0)
    expected = graph.add("Max", graph.add("Sub", expected, predicted), np.float64(0))
    return graph.add("Squeeze", leak, np.array([1])), expected


def _probabilities(graph: Graph, scores: str, total: str, is_counted: str) -> str:
    found = graph.add("Exp", graph.add("Sub", scores, total))
    return graph.add("Where", is_counted, found, np.float64(0))


def _messages(graph: Graph, chain: Chain, forward: str, is_predicted: str, starts: str) -> str:
    """The log-sum of prefixes whose last entity is predicted up to here, (B, T, S)."""

    def step(
        body: Graph, before: str, is_first: str, forward: str, allowed: str, emissions: str
    ) -> Tuple[list, list]:
        scores = body.add("Add", log_sums(body, before, chain), emissions)
        scores = body.add("Where", is_first, forward, scores)
        scores = body.add("Where", allowed, scores, np.float64(-np.inf))
        return [scores], [scores]

    sequences = [
        (graph.add("Unsqueeze", starts, np.array([2])), "bool"),
        (forward, "float64"),
        (is_predicted, "bool"),
        (chain.emissions, "float64"),
    ]
    first = zeros_like_first(graph, chain.emissions)
    return graph.scan(step, [(first, "float64")], sequences, ["float64"])[1]
