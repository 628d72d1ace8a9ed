"""Entities, their probabilities and the expected number of missed entities, as ONNX.

See `tagger.spans.entities` and `tagger.spans.leaks`.
"""

from typing import List, NamedTuple, Sequence, Tuple

import numpy as np
import torch

from tagger.integrations.onnx.chain import (
    Nodes,
    backward_scores,
    forward_scores,
    log_partition,
    log_sum,
    log_sums,
    shifted_left,
    shifted_right,
    zeros_like_first,
)
from tagger.integrations.onnx.graph import Value
from tagger.linear_chain import ChainScores
from tagger.modules.recalibration import LARGEST
from tagger.spans.conversion import spans_to_tags
from tagger.spans.encodings import rules_of, split_tag
from tagger.spans.finding import TagTables, tag_tables
from tagger.spans.leaks import States, placed_chain

_ZERO = np.int64(0)


class EntityNodes(NamedTuple):
    """The entities of a batch, by token: (B, T) each."""

    # int64, the index of the label; -1 outside entities
    labels: Value
    # bool: the first token of each entity, all its tokens, and its last token
    starts: Value
    is_inside: Value
    is_end: Value
    # int64, the first and the last token of the token's entity; undefined outside entities
    firsts: Value
    lasts: Value

    @property
    def known_labels(self) -> Value:
        """The index of the label; 0 outside entities."""
        return self.labels.op("Max", _ZERO)


def find_entities(
    tags: Value, mask: Value, names: Sequence[str], tag_encoding: str
) -> Tuple[TagTables, EntityNodes]:
    """Finds the entities spelled by tags, (B, T) int64."""
    tables = tag_tables(names, tag_encoding)
    outside = np.int64(len(names))
    # (B, T): K in the padding and on either side
    tags = mask.where(tags, outside)
    border = outside.reshape(1, 1)
    labels = tags.select(tables.label_of)
    is_inside = labels >= _ZERO

    def goes_on(left: Value, right: Value) -> Value:
        return (left * (outside + 1) + right).select(tables.continues.reshape(-1))

    starts = is_inside & ~goes_on(shifted_right(tags, border), tags)
    is_end = is_inside & ~goes_on(tags, shifted_left(tags, border))
    # (B, T): the number of the token's entity in its sentence, from 1
    number = starts.cast("int64").op("CumSum", np.int64(1))
    firsts, lasts = (_place_by_number(each, number) for each in (starts, is_end))
    return tables, EntityNodes(labels, starts, is_inside, is_end, firsts, lasts)


def entity_probabilities(
    chain: Nodes,
    forward: Value,
    backward: Value,
    entities: EntityNodes,
    tables: TagTables,
    names: Sequence[str],
    tag_encoding: str,
) -> Value:
    """Returns the exact probability of the entity beginning at each token, (B, T) float32.

    See `tagger.linear_chain.span_log_probabilities`; each entity has exactly one legal spelling.
    """
    spelling = _spelling(entities, tables, names, tag_encoding)

    def of_spelt(scores: Value) -> Value:
        return scores.take_along(spelling.unsqueeze(2), axis=2).squeeze(2)

    # (B, T): what each token after an entity's first adds to the score of its spelling
    before = shifted_right(spelling, np.zeros((1, 1), np.int64))
    pair = before * np.int64(len(names)) + spelling
    steps = pair.select(chain.transitions.reshape(-1)) + of_spelt(chain.emissions)
    goes_on = entities.is_inside & ~entities.starts
    up_to = goes_on.where(steps, np.float64(0)).op("CumSum", np.int64(1))
    # (B, T): the log-sum of everything after an entity that ends at this token
    behind = up_to + _log_sums_behind(chain, backward, spelling, names, tag_encoding)
    score = of_spelt(forward) - up_to + behind.take_along(entities.lasts)
    return (score - log_partition(chain, backward)).op("Exp").cast("float32")


def corrected_probabilities(
    probabilities: Value, entities: EntityNodes, coefficients: np.ndarray
) -> Value:
    """Corrects probabilities, (B, T), by (C, 3) coefficients; see `tagger.modules.recalibration`."""
    # (B, T) each
    a, b, c = (entities.known_labels.select(column.copy()) for column in coefficients.T)
    bounds = np.float64(1 - LARGEST), np.float64(LARGEST)
    p = probabilities.cast("float64").op("Clip", *bounds)
    log_odds = a * p.op("Log") - b * (np.float64(1) - p).op("Log") + c
    return log_odds.op("Sigmoid").cast("float32")


def drop_improbable(
    tags: Value, probabilities: Value, entities: EntityNodes, thresholds: np.ndarray, outside: int
) -> Tuple[Value, EntityNodes]:
    """Drops entities below their labels' thresholds, (C,); returns tags, (B, T), and entities."""
    is_probable = probabilities >= entities.known_labels.select(thresholds)
    firsts = entities.is_inside.where(entities.firsts, _ZERO)
    is_kept = is_probable.cast("int32").take_along(firsts).cast("bool")
    is_dropped = entities.is_inside & ~is_kept
    kept = entities._replace(
        labels=is_dropped.where(np.int64(-1), entities.labels),
        starts=entities.starts & is_kept,
        is_inside=entities.is_inside & is_kept,
        is_end=entities.is_end & is_kept,
    )
    return is_dropped.where(np.int64(outside), tags), kept


def _place_by_number(is_marked: Value, number: Value) -> Value:
    """For each token, the place of the token in `is_marked` with the same number, (B, T)."""
    places = (number * _ZERO + np.int64(1)).op("CumSum", np.int64(1), exclusive=1)
    # All other tokens write 0 to number 0, which belongs to no entity.
    numbers, updates = (is_marked.where(each, _ZERO) for each in (number, places))
    empty = number.op("Concat", number.slice(0, 1), axis=1) * _ZERO
    return empty.op("ScatterElements", numbers, updates, axis=1).take_along(number)


def _spelling(
    entities: EntityNodes, tables: TagTables, names: Sequence[str], tag_encoding: str
) -> Value:
    """The legal tag for each token of an entity, (B, T) int64; 0 outside entities."""
    # (C, 4): the tag of an inner, a first, a last and an only token of an entity
    number_of = {tag: number for number, tag in enumerate(names)}
    labels = dict(zip(tables.label_of.tolist(), (split_tag(tag)[1] or "" for tag in names)))
    spellings = np.array(
        [
            [number_of[tag] for tag in _places(labels[c], tag_encoding)]
            for c in range(len(tables.labels))
        ]
    )
    place = entities.known_labels * np.int64(4) + entities.starts.cast("int64")
    spelling = (place + entities.is_end.cast("int64") * np.int64(2)).select(spellings.reshape(-1))
    return entities.is_inside.where(spelling, _ZERO)


def _places(label: str, tag_encoding: str) -> List[str]:
    first, inside, last = spans_to_tags([(label, (0, 2))], 3, tag_encoding)
    (only,) = spans_to_tags([(label, (0, 0))], 1, tag_encoding)
    return [inside, first, last, only]


def _log_sums_behind(
    chain: Nodes, backward: Value, spelling: Value, names: Sequence[str], tag_encoding: str
) -> Value:
    """The log-sum of all continuations after an entity that ends at each token, (B, T)."""
    bound = rules_of(tag_encoding).bound
    prefixes, labels = zip(*(split_tag(tag, tag_encoding) for tag in names))
    number_of = {label: number for number, label in enumerate(labels)}
    number = np.array([number_of[label] for label in labels])
    # (K, K); bound prefixes have a label
    continues = np.array([prefix in bound for prefix in prefixes]) & (number[:, None] == number)
    leaving = np.where(continues, -np.inf, chain.transitions)
    # (B, T, K)
    scores = spelling.select(leaving) + shifted_left(chain.emissions + backward)
    return chain.is_last.where(spelling.select(chain.end), log_sum(scores))


def add_leaks(chain: Nodes, tables: TagTables, entities: EntityNodes) -> None:
    """Adds the outputs `leak_probability` and `expected_missed`, (B,), which depend on `leak_labels`.

    If the input `leak_labels`, (C,) bool, is all false, both are 0 and nothing is computed.
    """
    graph = chain.mask.graph
    is_wanted = graph.input("leak_labels", "bool", [len(tables.labels)])
    nothing = torch.zeros(1, 1, len(chain.start), dtype=torch.float64)
    constants = map(torch.from_numpy, (chain.transitions, chain.start, chain.end))
    placed, states = placed_chain(tables, ChainScores(nothing, *constants))
    transitions, start, end = (each.numpy() for each in placed[1:])

    def leaks() -> List[Value]:
        emissions = chain.emissions.gather(states.tags, axis=2)
        of_states = Nodes(emissions, chain.mask, chain.is_last, transitions, start, end, True)
        return _leaks(of_states, states, entities, is_wanted)

    def no_leaks() -> List[Value]:
        return [chain.mask.op("Shape", end=1).op("ConstantOfShape").cast("float64")] * 2

    any_wanted = is_wanted.cast("int32").op("ReduceMax", keepdims=0).cast("bool")
    found = graph.choose(any_wanted, leaks, no_leaks, dtype="float64")
    for name, value in zip(("leak_probability", "expected_missed"), found):
        graph.output(name, value, "float64", ["batch"])


def _leaks(chain: Nodes, states: States, entities: EntityNodes, is_wanted: Value) -> List[Value]:
    """Does what `LeakFinder` does, for a chain over states."""
    # (S,); the label is -1 outside entities.
    is_counted = is_wanted.op("Concat", np.array([False]), axis=0).gather(states.labels)
    # (B, T, S): the states that tokens have inside predicted entities
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
    any_leak = np.float64(1) - none.op("Min", np.float64(0)).op("Exp").squeeze(1)
    # (B, T, S): the probability that a counted entity begins here
    opening = (chain.mask.unsqueeze(2) & states.opens) & is_counted
    begins = _probabilities(forward + backward, total.unsqueeze(2), opening)
    # (B, T): the probability of the predicted entity that ends here
    ended = log_sum(_messages(chain, forward, is_predicted, entities.starts) + backward)
    is_end = entities.is_end & is_wanted.gather(entities.labels.op("Max", np.int64(0)))
    predicted = _probabilities(ended, total, is_end)
    expected = begins.reduce("Sum", 1, 2) - predicted.reduce("Sum", 1)
    return [any_leak, expected.op("Max", np.float64(0))]


def _probabilities(scores: Value, total: Value, is_counted: Value) -> Value:
    return is_counted.where((scores - total).op("Exp"), np.float64(0))


def _messages(chain: Nodes, forward: Value, is_predicted: Value, starts: Value) -> Value:
    """The log-sum of prefixes in which the entity that ends last is the predicted one, (B, T, S)."""

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
