"""The kernel of tag marginals and of the chain rule's conditionals, with their derivatives.

A tag's posterior is its share of the paths through its token: its marginal or, with `given_prefix`, its
probability given that the tags before it are gold. Each share is a product of three terms: the sum over
the prefixes (only those of gold tags with `given_prefix`), the emission, and the sum over the suffixes,
which are the prefixes of the row read from its end. The README derives the gradients ("Posteriors").

Letters: `n` is the number of real tokens of a row; see `batch` for the others and the arguments.
"""

from typing import NamedTuple, Tuple

import numpy as np

from tagger.linear_chain.cpu.kernels.adjoints import adjoint_row
from tagger.linear_chain.cpu.kernels.batch import (
    Batch,
    SharedGradients,
    new_shared_gradients,
    weigh_steps,
)
from tagger.linear_chain.cpu.kernels.messages import (
    TINY,
    RowScratch,
    SharedScores,
    forward_row,
    forward_row_in_log_space,
    new_row,
    peak_of,
    shared_scores_of,
)
from tagger.linear_chain.kernels.compilation import kernel
from tagger.linear_chain.kernels.exponentials import exp, log_sum, normalize


class _Direction(NamedTuple):
    """A row read from one of its ends, and the derivatives of the sums that arrive that way."""

    chain: SharedScores
    row: RowScratch
    # (T, K), in the order of reading
    emissions: np.ndarray
    # (K, K), see `adjoint_row`
    pairs: np.ndarray
    by_transitions: np.ndarray


class _Posteriors(NamedTuple):
    """Scratch for one row."""

    # (T, K)
    probabilities: np.ndarray
    # (T, K), the derivatives of the values with respect to the log of each of the three terms
    changes: np.ndarray
    # (T,), the logarithms of the gold tags' posteriors
    steps: np.ndarray
    # (T, K) bool, and (T,) int64 if the gold tags are a path
    allowed: np.ndarray
    path: np.ndarray


@kernel
def posterior_rows(
    first: int,
    last: int,
    batch: Batch,
    path: np.ndarray,
    sets: np.ndarray,
    weights: np.ndarray,
    is_total: bool,
    values: np.ndarray,
    by_emissions: np.ndarray,
    given_prefix: bool,
) -> np.ndarray:
    """The log-posteriors of gold tags.

    Without gold tags, only the derivatives of the marginals of all tags, with `weights` (B, T, K).
    """
    has_path, has_sets, has_gradients = len(path) > 0, len(sets) > 0, len(by_emissions) > 0
    num_tokens, num_tags = batch.emissions.shape[1:]
    ahead, back = _new_direction(batch, False), _new_direction(batch, True)
    found = _Posteriors(
        np.empty((num_tokens, num_tags)),
        np.empty((num_tokens, num_tags)),
        np.empty(num_tokens),
        np.ones((num_tokens, num_tags), np.bool_),
        np.empty(num_tokens, np.int64),
    )
    upstream, shared = np.empty(num_tokens), new_shared_gradients(num_tags)
    # Unpacked, because Numba counts references to arrays that loops take from a tuple.
    emissions, allowed, changes = batch.emissions, found.allowed, found.changes
    reversed_changes = np.empty_like(changes)
    ahead_emissions, back_emissions = ahead.emissions, back.emissions
    by_prefixes, by_suffixes = ahead.row.adjoint, back.row.adjoint
    for b in range(first, last):
        n = batch.lengths[b]
        if n == 0:
            continue
        for t in range(n):
            if has_path:
                found.path[t] = path[b, t]
            for k in range(num_tags):
                if has_sets:
                    allowed[t, k] = sets[b, t, k]
                ahead_emissions[t, k] = back_emissions[n - 1 - t, k] = emissions[b, t, k]
        if given_prefix and not has_path:
            for t in range(n):
                for k in range(num_tags):
                    ahead_emissions[t, k] = emissions[b, t, k] if allowed[t, k] else -np.inf
        num_prefixes, num_suffixes = n, n
        follows_path = has_path and given_prefix
        in_log_space = not _solve(ahead, back, n, follows_path, found)
        if not in_log_space and (has_path or has_sets):
            in_log_space = not _compare(n, has_path, found)
        if in_log_space:
            if has_path:
                _allow_path(n, found)
            num_prefixes, num_suffixes = _solve_in_log_space(ahead, back, n, given_prefix, found)
            follows_path = False
        if has_path or has_sets:
            weigh_steps(found.steps[:n], weights[b], is_total, values[b], upstream)
            for t in range(n):
                for k in range(num_tags):
                    changes[t, k] *= upstream[t]
                    reversed_changes[n - 1 - t, k] = changes[t, k]
        else:
            _weigh_marginals(weights[b], n, found, reversed_changes)
        if not has_gradients:
            continue
        if follows_path:
            _differentiate_path(ahead, n, changes, found.path)
        else:
            _differentiate(ahead, num_prefixes, n, changes, in_log_space)
        _differentiate(back, num_suffixes, n, reversed_changes, in_log_space)
        for t in range(n):
            for k in range(num_tags):
                arriving = by_prefixes[t, k] + by_suffixes[n - 1 - t, k]
                by_emissions[b, t, k] = changes[t, k] + arriving
        for k in range(num_tags):
            shared.start[k] += changes[0, k] + by_prefixes[0, k]
            shared.end[k] += changes[n - 1, k] + by_suffixes[0, k]
    _add_transitions(ahead, back, shared)
    return shared.flat


@kernel
def _new_direction(batch: Batch, from_the_end: bool) -> _Direction:
    num_tokens, num_tags = batch.emissions.shape[1:]
    return _Direction(
        shared_scores_of(batch, from_the_end),
        new_row(num_tokens, num_tags),
        np.empty((num_tokens, num_tags)),
        np.zeros((num_tags, num_tags)),
        np.zeros((num_tags, num_tags)),
    )


@kernel
def _allow_path(n: int, found: _Posteriors) -> None:
    for t in range(n):
        for k in range(found.allowed.shape[1]):
            found.allowed[t, k] = k == found.path[t]


@kernel
def _solve(
    ahead: _Direction, back: _Direction, n: int, follows_path: bool, found: _Posteriors
) -> bool:
    """Writes the posteriors in probability space; returns whether that was possible.

    Rows without a possible path are left to log space, too.
    """
    if forward_row(back.chain, back.emissions[:n], back.row) < n:
        return False
    if follows_path:
        _arrive_from_path(ahead, n, found.path)
    elif forward_row(ahead.chain, ahead.emissions[:n], ahead.row) < n:
        return False
    prefixes, suffixes, probabilities = ahead.row.arriving, back.row.messages, found.probabilities
    num_tags = probabilities.shape[1]
    for t in range(n):
        for k in range(num_tags):
            probabilities[t, k] = prefixes[t, k] * suffixes[n - 1 - t, k]
        total = 0.0
        for k in range(num_tags):
            total += probabilities[t, k]
        if total < TINY:
            return False
        scale = 1.0 / total
        for k in range(num_tags):
            probabilities[t, k] *= scale
    return True


@kernel
def _compare(n: int, is_path: bool, found: _Posteriors) -> bool:
    """Writes the gold tags' log-posteriors and the changes; returns whether no posterior underflows."""
    probabilities, allowed, changes = found.probabilities, found.allowed, found.changes
    num_tags = probabilities.shape[1]
    for t in range(n):
        of_gold = 0.0
        if is_path:
            of_gold = probabilities[t, found.path[t]]
        else:
            for k in range(num_tags):
                of_gold += probabilities[t, k] if allowed[t, k] else 0.0
        if of_gold < TINY:
            return False
        found.steps[t] = np.log(of_gold)
        scale = 1.0 / of_gold
        for k in range(num_tags):
            changes[t, k] = -probabilities[t, k]
        if is_path:
            changes[t, found.path[t]] += 1.0
        else:
            for k in range(num_tags):
                changes[t, k] += probabilities[t, k] * scale if allowed[t, k] else 0.0
    return True


@kernel
def _arrive_from_path(ahead: _Direction, n: int, path: np.ndarray) -> None:
    """Writes the sums that arrive at each token from only the gold tag before it."""
    arriving, leaving, start = ahead.row.arriving, ahead.chain.leaving, ahead.chain.start
    start_peak = peak_of(start)
    for k in range(len(start)):
        arriving[0, k] = exp(start[k] - start_peak)
    for t in range(1, n):
        for k in range(len(start)):
            arriving[t, k] = leaving[path[t - 1], k]


@kernel
def _solve_in_log_space(
    ahead: _Direction, back: _Direction, n: int, given_prefix: bool, found: _Posteriors
) -> Tuple[int, int]:
    """Like `_solve`, in log space; returns at how many tokens prefixes arrive, and suffixes."""
    num_tags = found.changes.shape[1]
    for t in range(n):
        for k in range(num_tags):
            if given_prefix and not found.allowed[t, k]:
                ahead.emissions[t, k] = -np.inf
    # Sums still arrive at the token at which a recursion ends.
    num_prefixes = forward_row_in_log_space(ahead.chain, ahead.emissions[:n], ahead.row) + 1
    num_suffixes = forward_row_in_log_space(back.chain, back.emissions[:n], back.row) + 1
    num_prefixes, num_suffixes = min(num_prefixes, n), min(num_suffixes, n)
    logarithms, of_gold = np.empty((2, num_tags))
    for t in range(n):
        logarithms.fill(-np.inf)
        if n - num_suffixes <= t < num_prefixes:
            for k in range(num_tags):
                following = back.row.arriving[n - 1 - t, k] + back.emissions[n - 1 - t, k]
                logarithms[k] = ahead.row.arriving[t, k] + following
            normalize(logarithms)
        for k in range(num_tags):
            found.probabilities[t, k] = np.exp(logarithms[k])
            of_gold[k] = logarithms[k] if found.allowed[t, k] else -np.inf
        found.steps[t] = log_sum(of_gold)
        for k in range(num_tags):
            found.changes[t, k] = 0.0
            if found.steps[t] > -np.inf:
                given_gold = np.exp(of_gold[k] - found.steps[t])
                found.changes[t, k] = given_gold - found.probabilities[t, k]
    for k in range(num_tags):
        ahead.row.adjoint[num_prefixes - 1, k] = back.row.adjoint[num_suffixes - 1, k] = 0.0
    return num_prefixes, num_suffixes


@kernel
def _weigh_marginals(
    weights: np.ndarray, n: int, found: _Posteriors, reversed_changes: np.ndarray
) -> None:
    """Writes the changes of the sum of all marginals times `weights`, (T, K)."""
    probabilities, changes = found.probabilities, found.changes
    for t in range(n):
        expected = 0.0
        for k in range(weights.shape[1]):
            expected += probabilities[t, k] * weights[t, k]
        for k in range(weights.shape[1]):
            changes[t, k] = probabilities[t, k] * (weights[t, k] - expected)
        for k in range(weights.shape[1]):
            reversed_changes[n - 1 - t, k] = changes[t, k]


@kernel
def _differentiate(
    direction: _Direction, reached: int, n: int, by_arriving: np.ndarray, in_log_space: bool
) -> None:
    """Differentiates the sums that arrive at the tokens that are reached."""
    chain, row, pairs, no_upstream = direction.chain, direction.row, direction.pairs, np.zeros(n)
    by_transitions = direction.by_transitions
    adjoint_row(chain, reached, in_log_space, no_upstream, by_arriving, row, pairs, by_transitions)


@kernel
def _differentiate_path(
    ahead: _Direction, n: int, by_arriving: np.ndarray, path: np.ndarray
) -> None:
    """Differentiates what `_arrive_from_path` writes."""
    by_transitions = ahead.by_transitions
    ahead.row.adjoint[:n].fill(0.0)
    for t in range(1, n):
        for k in range(len(by_transitions)):
            by_transitions[path[t - 1], k] += by_arriving[t, k]


@kernel
def _add_transitions(ahead: _Direction, back: _Direction, shared: SharedGradients) -> None:
    leaving = ahead.chain.leaving
    for i in range(len(leaving)):
        for k in range(len(leaving)):
            pairs = ahead.pairs[i, k] + back.pairs[k, i]
            by_transitions = ahead.by_transitions[i, k] + back.by_transitions[k, i]
            shared.transitions[i, k] += pairs * leaving[i, k] + by_transitions
