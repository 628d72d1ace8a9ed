"""How many entities a prediction misses under a linear chain, and how probable it is that it misses one.

The quantities are exact. They come from a chain with the same distribution, in which S states know
where their token lies in an entity. There an entity is a product of sets of states, one for each token,
in every encoding and even in illegal sequences. So a restricted partition function sums over the
labellings in which a prediction misses nothing (Culotta & McCallum 2004 for one entity).
"""

from itertools import product
from typing import NamedTuple, Sequence, Tuple

import numpy as np
import torch

from tagger.linear_chain import ChainScores, log_likelihood, span_log_probabilities, tag_marginals
from tagger.spans.entities import Entities
from tagger.spans.finding import TagTables, tag_tables


class Leaks(NamedTuple):
    """What a prediction misses, in float64."""

    #: (B, T), how many missed entities begin at each token
    expected: torch.Tensor
    #: (B,), the log-probability that no entity of the row is missed
    log_none: torch.Tensor


class States(NamedTuple):
    """The tag of each state, its label, -1 outside, and whether its token opens and closes an entity."""

    tags: np.ndarray
    labels: np.ndarray
    opens: np.ndarray
    closes: np.ndarray


class LeakFinder:
    """Finds how much predictions miss of some labels; `_` stands for spans without a label.

    An entity of the true labelling, read as by `tags_to_spans`, is missed unless the prediction holds
    the same tokens with the same label.
    """

    def __init__(self, tags: Sequence[str], tag_encoding: str, labels: Sequence[str]) -> None:
        tables = tag_tables(tags, tag_encoding)
        unknown = [label for label in labels if label not in tables.labels]
        if unknown or not labels:
            raise ValueError(
                f"`labels` must be some of {', '.join(tables.labels)}; got {', '.join(labels) or '-'}"
            )
        self._counted = [tables.labels.index(label) for label in labels]
        self._tables = tables

    def __call__(self, scores: ChainScores, predicted: Entities, mask: torch.Tensor) -> Leaks:
        """Returns what a prediction misses; its entities must not overlap, the mask is right-padded."""
        placed, states = placed_chain(self._tables, scores)
        predicted = predicted.where(np.isin(predicted.labels, self._counted))
        # (S,)
        is_counted = np.isin(states.labels, self._counted)
        allowed = _allowed(states, is_counted, predicted, tuple(mask.shape))
        device = scores.emissions.device
        log_none = log_likelihood(placed, torch.from_numpy(allowed).to(device), mask)
        opening = torch.from_numpy(is_counted & states.opens).to(device)
        # (B, T)
        expected = tag_marginals(placed, mask)[:, :, opening].sum(2)
        if len(predicted.rows):
            rows, firsts = (
                torch.from_numpy(each).to(device) for each in (predicted.rows, predicted.firsts)
            )
            expected[rows, firsts] -= self._probabilities(placed, states, predicted, mask)
        # Rounding could make a number of entities negative, or a probability exceed 1.
        return Leaks(expected.clamp(min=0), log_none.clamp(max=0))

    def _probabilities(
        self, placed: ChainScores, states: States, predicted: Entities, mask: torch.Tensor
    ) -> torch.Tensor:
        """The probability of each predicted entity, (N,)."""
        offsets = np.arange((predicted.lasts - predicted.firsts).max() + 1)
        ends = (predicted.lasts - predicted.firsts)[:, np.newaxis]
        # (N, W, S)
        allowed = _same_place(
            states, predicted.labels[:, np.newaxis], (offsets == 0) & (ends >= 0), offsets == ends
        )
        spans = np.stack([predicted.rows, predicted.firsts, predicted.lasts], axis=1)
        device = placed.emissions.device
        return span_log_probabilities(
            placed, torch.from_numpy(spans).to(device), torch.from_numpy(allowed).to(device), mask
        ).exp()


def expected_entities(tables: TagTables, scores: ChainScores, mask: torch.Tensor) -> torch.Tensor:
    """Returns how many entities of each label are expected in each row, (B, C) float64."""
    placed, states = placed_chain(tables, scores)
    # (B, S)
    of_states = tag_marginals(placed, mask).sum(1)
    counted = states.opens & (states.labels >= 0)
    opening = torch.from_numpy(counted.nonzero()[0]).to(mask.device)
    labels = torch.from_numpy(states.labels[counted]).to(mask.device)
    expected = of_states.new_zeros(len(mask), len(tables.labels))
    return expected.index_add(1, labels, of_states[:, opening])


def placed_chain(tables: TagTables, scores: ChainScores) -> Tuple[ChainScores, States]:
    """Returns an equivalent chain with states that know where their token lies in an entity.

    Every path of tags has one path of states, with the entities that `tags_to_spans` finds. Scores are
    float64, without gradients; states that are impossible in this chain are left out.
    """
    emissions, transitions, start, end = (each.detach().double() for each in scores)
    states = _states_of(tables)
    tags, opens, closes, may_follow = (
        torch.from_numpy(each).to(emissions.device)
        for each in (states.tags, states.opens, states.closes, _may_follow(tables, states))
    )
    transitions = transitions[tags][:, tags].masked_fill(~may_follow, -torch.inf)
    start = start[tags].masked_fill(~opens, -torch.inf)
    end = end[tags].masked_fill(~closes, -torch.inf)
    # Most states are impossible in a chain that has legal sequences only.
    is_reached = (start > -torch.inf) | (transitions > -torch.inf).any(0)
    is_left = (end > -torch.inf) | (transitions > -torch.inf).any(1)
    kept = (is_reached & is_left).nonzero()[:, 0]
    placed = ChainScores(
        emissions[:, :, tags[kept]], transitions[kept][:, kept], start[kept], end[kept]
    )
    return placed, States(*(each[kept.cpu().numpy()] for each in states))


def _states_of(tables: TagTables) -> States:
    """All states of tags: four of each tag with a label, one of each without."""
    states = [
        (tag, label, opens, closes)
        for tag, label in enumerate(tables.label_of[:-1].tolist())
        for opens, closes in ([(1, 1)] if label < 0 else product((1, 0), repeat=2))
    ]
    tags, labels, opens, closes = np.array(states, dtype=np.int64).T
    return States(tags, labels, opens == 1, closes == 1)


def _may_follow(tables: TagTables, states: States) -> np.ndarray:
    """(S, S) bool: an entity goes on unless the first state closes it or the second opens one."""
    continues = tables.continues[states.tags][:, states.tags]
    goes_on = ~states.closes[:, np.newaxis] & ~states.opens
    ends = states.closes[:, np.newaxis] & states.opens
    allowed: np.ndarray = (continues & goes_on) | (~continues & ends)
    return allowed


def _same_place(
    states: States, labels: np.ndarray, opens: np.ndarray, closes: np.ndarray
) -> np.ndarray:
    """Which states have these labels and places, (..., S) bool for arrays (...)."""
    is_same: np.ndarray = (
        (states.labels == labels[..., np.newaxis])
        & (states.opens == opens[..., np.newaxis])
        & (states.closes == closes[..., np.newaxis])
    )
    return is_same


def _allowed(
    states: States, is_counted: np.ndarray, predicted: Entities, shape: Tuple[int, ...]
) -> np.ndarray:
    """The states of labellings that hold no counted entity but those predicted, (B, T, S) bool."""
    # (B, T): the label that is predicted, and the place of the token
    labels = np.full(shape, -2)
    opens, closes = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
    for label, row, first, last in zip(*(column.tolist() for column in predicted)):
        labels[row, first : last + 1] = label
        opens[row, first] = closes[row, last] = True
    allowed: np.ndarray = ~is_counted | _same_place(states, labels, opens, closes)
    return allowed
