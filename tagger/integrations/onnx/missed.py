"""What a prediction misses, as ONNX: see `tagger.spans.missed`."""

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
from tagger.integrations.onnx.graph import Value
from tagger.linear_chain import ChainScores
from tagger.spans.finding import TagTables
from tagger.spans.missed import States, placed_chain


def add_missed(chain: Chain, tables: TagTables, entities: FoundEntities) -> None:
    """Declares `leak_probability` and `expected_missed`, (B,), of the input `leak_labels`, (C,) bool.

    If it marks none, both are 0 and cost no time.
    """
    graph = chain.mask.graph
    is_wanted = graph.input("leak_labels", "bool", [len(tables.labels)])
    nothing = torch.zeros(1, 1, len(chain.start), dtype=torch.float64)
    constants = map(torch.from_numpy, (chain.transitions, chain.start, chain.end))
    placed, states = placed_chain(tables, ChainScores(nothing, *constants))
    transitions, start, end = (each.numpy() for each in placed[1:])

    def missed() -> List[Value]:
        emissions = chain.emissions.gather(states.tags, axis=2)
        of_states = Chain(emissions, chain.mask, chain.is_last, transitions, start, end, True)
        return _missed(of_states, states, entities, is_wanted)

    def nothing_missed() -> List[Value]:
        return [chain.mask.op("Shape", end=1).op("ConstantOfShape").cast("float64")] * 2

    any_wanted = is_wanted.cast("int32").op("ReduceMax", keepdims=0).cast("bool")
    found = graph.choose(any_wanted, missed, nothing_missed, dtype="float64")
    for name, value in zip(("leak_probability", "expected_missed"), found):
        graph.output(name, value, "float64", ["batch"])


def _missed(chain: Chain, states: States, entities: FoundEntities, is_wanted: Value) -> List[Value]:
    """See `MissFinder`, for a chain over states."""
    # (S,); outside, the label is -1.
    is_counted = is_wanted.op("Concat", np.array([False]), axis=0).gather(states.labels)
    # (B, T, S): the states of tokens in their places of predicted entities
    is_predicted = (
        entities.labels.unsqueeze(2).equals(states.labels)
        & entities.starts.unsqueeze(2).equals(states.opens)
        & entities.is_end.unsqueeze(2).equals(states.closes)
    )
    possible = (is_predicted | ~is_counted).where(chain.emissions, np.float64(-np.inf))
    restricted = chain._replace(emissions=possible)
    forward, backward = forward_scores(chain), backward_scores(chain)
    # (B, 1)
    total = log_partition(chain, backward)
    none = log_partition(restricted, backward_scores(restricted)) - total
    leak = np.float64(1) - none.op("Min", np.float64(0)).op("Exp").squeeze(1)
    # (B, T, S): how probable it is that a counted entity begins
    opening = (chain.mask.unsqueeze(2) & states.opens) & is_counted
    begins = _probabilities(forward + backward, total.unsqueeze(2), opening)
    # (B, T): how probable the predicted entity is that ends here
    ended = log_sum(_messages(chain, forward, is_predicted, entities.starts) + backward)
    is_end = entities.is_end & is_wanted.gather(entities.labels.op("Max", np.int64(0)))
    predicted = _probabilities(ended, total, is_end)
    expected = begins.reduce("Sum", 1, 2) - predicted.reduce("Sum", 1)
    return [leak, expected.op("Max", np.float64(0))]


def _probabilities(scores: Value, total: Value, is_counted: Value) -> Value:
    return is_counted.where((scores - total).op("Exp"), np.float64(0))


def _messages(chain: Chain, forward: Value, is_predicted: Value, starts: Value) -> Value:
    """The log-sum of prefixes whose last entity is predicted up to here, (B, T, S)."""

    def step(
        before: Value, is_first: Value, forward: Value, allowed: Value, emissions: Value
    ) -> Tuple[list, list]:
        scores = is_first.where(forward, log_sums(before, chain) + emissions)
        scores = allowed.where(scores, np.float64(-np.inf))
        return [scores], [scores]

    sequences = [
        (starts.unsqueeze(2), "bool"),
        (forward, "float64"),
        (is_predicted, "bool"),
        (chain.emissions, "float64"),
    ]
    first = zeros_like_first(chain.emissions), "float64"
    return starts.graph.scan(step, [first], sequences, ["float64"])[1]
