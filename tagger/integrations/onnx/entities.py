"""The entities that tags spell, and the probability of each, as ONNX: see `tagger.spans.entities`.

Letters: `B` batch, `T` tokens, `K` tags, `C` labels.
"""

from typing import List, NamedTuple, Sequence, Tuple

import numpy as np

from tagger.integrations.onnx.chain import (
    Chain,
    log_partition,
    log_sum,
    shifted_left,
    shifted_right,
)
from tagger.integrations.onnx.graph import Graph
from tagger.modules.recalibration import LARGEST
from tagger.spans.conversion import spans_to_tags
from tagger.spans.encodings import rules_of, split_tag
from tagger.spans.finding import TagTables, tag_tables


class FoundEntities(NamedTuple):
    """The entities of a batch.

    Attributes:
        labels: (B, T) int64, the index of each token's label, -1 outside.
        starts: (B, T) bool, the first tokens of entities.
        is_inside: (B, T) bool.
        is_end: (B, T) bool, the last tokens of entities.
        firsts: (B, T) int64, the first token of each token's entity; undefined outside.
        lasts: (B, T) int64, the last token of each token's entity; undefined outside.
    """

    labels: str
    starts: str
    is_inside: str
    is_end: str
    firsts: str
    lasts: str


def find_entities(
    graph: Graph, tags: str, mask: str, names: Sequence[str], encoding: str
) -> Tuple[TagTables, FoundEntities]:
    """Finds the entities that tags, (B, T) int64, spell."""
    tables = tag_tables(names, encoding)
    outside = np.int64(len(names))
    # (B, T): K in the padding and on both sides
    tags = graph.add("Where", mask, tags, outside)
    border = outside.reshape(1, 1)
    before, after = shifted_right(graph, tags, border), shifted_left(graph, tags, border)
    labels = graph.add("Gather", tables.label_of, tags)
    is_inside = graph.add("GreaterOrEqual", labels, np.int64(0))

    def goes_on(left: str, right: str) -> str:
        pair = graph.add("Add", graph.add("Mul", left, outside + 1), right)
        return graph.add("Gather", tables.continues.reshape(-1), pair)

    starts = graph.add("And", is_inside, graph.add("Not", goes_on(before, tags)))
    is_end = graph.add("And", is_inside, graph.add("Not", goes_on(tags, after)))
    # (B, T): which entity of its sentence each token belongs to, from 1
    number = graph.add("CumSum", graph.add("Cast", starts, to=7), np.int64(1))
    return tables, FoundEntities(
        labels,
        starts,
        is_inside,
        is_end,
        _place_by_number(graph, starts, number),
        _place_by_number(graph, is_end, number),
    )


def entity_probabilities(
    graph: Graph,
    chain: Chain,
    forward: str,
    backward: str,
    entities: FoundEntities,
    tables: TagTables,
    names: Sequence[str],
    encoding: str,
) -> str:
    """The exact probability of the entity that begins at each token, (B, T) float32.

    It is undefined where none begins. See `tagger.linear_chain.span_log_probabilities`: an entity has
    one legal spelling, so the sum over its tokens has one term.
    """
    spelling = _spelling(graph, entities, tables, names, encoding)
    spelt = graph.add("Unsqueeze", spelling, np.array([2]))

    def of_spelt(scores: str) -> str:
        return graph.add(
            "Squeeze", graph.add("GatherElements", scores, spelt, axis=2), np.array([2])
        )

    # (B, T): what each token but the first of an entity adds to the score of its spelling
    num_tags = np.int64(len(names))
    before = shifted_right(graph, spelling, np.zeros((1, 1), np.int64))
    pair = graph.add("Add", graph.add("Mul", before, num_tags), spelling)
    steps = graph.add("Gather", chain.transitions.reshape(-1), pair)
    steps = graph.add("Add", steps, of_spelt(chain.emissions))
    goes_on = graph.add("And", entities.is_inside, graph.add("Not", entities.starts))
    steps = graph.add("Where", goes_on, steps, np.float64(0))
    up_to = graph.add("CumSum", steps, np.int64(1))
    # (B, T): what follows the entity if it ends at this token
    behind = _log_sums_behind(graph, chain, backward, spelling, names, encoding)
    behind = graph.add("Add", up_to, behind)
    score = graph.add("Sub", of_spelt(forward), up_to)
    score = graph.add("Add", score, graph.add("GatherElements", behind, entities.lasts, axis=1))
    score = graph.add("Sub", score, log_partition(graph, chain, backward))
    return graph.add("Cast", graph.add("Exp", score), to=1)


def corrected_probabilities(
    graph: Graph, probabilities: str, entities: FoundEntities, coefficients: np.ndarray
) -> str:
    """Probabilities, (B, T) float32, corrected by the coefficients of their labels, (C, 3).

    See `tagger.modules.recalibration`.
    """
    label = graph.add("Max", entities.labels, np.int64(0))
    # (B, T) each
    a, b, c = (graph.add("Gather", column.copy(), label) for column in coefficients.T)
    p = graph.add(
        "Clip",
        graph.add("Cast", probabilities, to=11),
        np.float64(1 - LARGEST),
        np.float64(LARGEST),
    )
    for_it = graph.add("Mul", a, graph.add("Log", p))
    against = graph.add("Mul", b, graph.add("Log", graph.add("Sub", np.float64(1), p)))
    log_odds = graph.add("Add", graph.add("Sub", for_it, against), c)
    return graph.add("Cast", graph.add("Sigmoid", log_odds), to=1)


def drop_improbable(
    graph: Graph,
    tags: str,
    probabilities: str,
    entities: FoundEntities,
    thresholds: np.ndarray,
    outside: int,
) -> Tuple[str, FoundEntities]:
    """Returns the tags, (B, T), and the entities without those below their labels' thresholds, (C,)."""
    label = graph.add("Max", entities.labels, np.int64(0))
    is_probable = graph.add("GreaterOrEqual", probabilities, graph.add("Gather", thresholds, label))
    firsts = graph.add("Where", entities.is_inside, entities.firsts, np.int64(0))
    is_kept = graph.add("Cast", is_probable, to=6)
    is_kept = graph.add("Cast", graph.add("GatherElements", is_kept, firsts, axis=1), to=9)
    is_dropped = graph.add("And", entities.is_inside, graph.add("Not", is_kept))
    kept = entities._replace(
        labels=graph.add("Where", is_dropped, np.int64(-1), entities.labels),
        starts=graph.add("And", entities.starts, is_kept),
        is_inside=graph.add("And", entities.is_inside, is_kept),
        is_end=graph.add("And", entities.is_end, is_kept),
    )
    return graph.add("Where", is_dropped, np.int64(outside), tags), kept


def _place_by_number(graph: Graph, is_marked: str, number: str) -> str:
    """The place of the marked token that has the same number as each token, (B, T) int64.

    Args:
        graph: The graph.
        is_marked: (B, T) bool; in a row the marked tokens have different numbers, above 0.
        number: (B, T) int64, from 0.
    """
    ones = graph.add("Mul", number, np.int64(0))
    ones = graph.add("Add", ones, np.int64(1))
    places = graph.add("CumSum", ones, np.int64(1), exclusive=1)
    # The others write 0 to the place of number 0, which no entity has.
    zero = np.int64(0)
    numbers = graph.add("Where", is_marked, number, zero)
    updates = graph.add("Where", is_marked, places, zero)
    empty = graph.add(
        "Mul", graph.add("Concat", number, _first_column(graph, number), axis=1), zero
    )
    by_number = graph.add("ScatterElements", empty, numbers, updates, axis=1)
    return graph.add("GatherElements", by_number, number, axis=1)


def _first_column(graph: Graph, values: str) -> str:
    return graph.add("Slice", values, np.array([0]), np.array([1]), np.array([1]))


def _spelling(
    graph: Graph, entities: FoundEntities, tables: TagTables, names: Sequence[str], encoding: str
) -> str:
    """The tag that spells each token of an entity legally, (B, T) int64; 0 outside."""
    # (C, 4): the tag of a token inside, that is first, that is last, and that is both
    spellings = np.array(
        [
            [names.index(tag) for tag in _places(_label(tables, names, c), encoding)]
            for c in range(len(tables.labels))
        ]
    )
    row = graph.add("Mul", graph.add("Max", entities.labels, np.int64(0)), np.int64(4))
    place = graph.add("Add", row, graph.add("Cast", entities.starts, to=7))
    last = graph.add("Mul", graph.add("Cast", entities.is_end, to=7), np.int64(2))
    spelling = graph.add("Gather", spellings.reshape(-1), graph.add("Add", place, last))
    return graph.add("Where", entities.is_inside, spelling, np.int64(0))


def _label(tables: TagTables, names: Sequence[str], index: int) -> str:
    tag = names[tables.label_of.tolist().index(index)]
    return split_tag(tag)[1] or ""


def _places(label: str, encoding: str) -> List[str]:
    first, inside, last = spans_to_tags([(label, (0, 2))], 3, encoding)
    (only,) = spans_to_tags([(label, (0, 0))], 1, encoding)
    return [inside, first, last, only]


def _log_sums_behind(
    graph: Graph, chain: Chain, backward: str, spelling: str, names: Sequence[str], encoding: str
) -> str:
    """The log-sum of what may follow an entity that ends at each token, (B, T)."""
    bound = rules_of(encoding).bound
    split = [split_tag(tag, encoding) for tag in names]
    continues = np.array(
        [[prefix in bound and other == label for prefix, other in split] for _, label in split]
    )
    leaving = np.where(continues, -np.inf, chain.transitions)
    following = shifted_left(graph, graph.add("Add", chain.emissions, backward))
    # (B, T, K)
    scores = graph.add("Add", graph.add("Gather", leaving, spelling), following)
    at_end = graph.add("Gather", chain.end, spelling)
    return graph.add("Where", chain.is_last, at_end, log_sum(graph, scores, keepdims=0))
