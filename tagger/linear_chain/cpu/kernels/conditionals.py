"""Kernels over the probability of each tag given the one before, and over prefixes or suffixes.

Rows that `forward_row` cannot compute in probability space, and rows without a possible path, are left
to the caller: a kernel that meets one returns at once, and says so.

Letters: `n` the real tokens of a row; see the package for `B`, `T`, `K`.
"""

from typing import Tuple

import numpy as np

from tagger.kernels.compilation import kernel
from tagger.linear_chain.cpu.kernels.adjoints import adjoint_row
from tagger.linear_chain.cpu.kernels.messages import (
    Chain,
    Row,
    forward_row,
    forward_row_in_log_space,
    new_chain,
    new_row,
    peak_of,
)


@kernel
def conditional_rows(
    first: int,
    last: int,
    lengths: np.ndarray,
    emissions: np.ndarray,
    transitions: np.ndarray,
    start: np.ndarray,
    end: np.ndarray,
    tags: np.ndarray,
    weights: np.ndarray,
    values: np.ndarray,
    gradients: np.ndarray,
) -> Tuple[bool, np.ndarray, np.ndarray, np.ndarray]:
    """Writes log p(y_t | y_{t-1}, x), and differentiates the sum of `weights` times it.

    Rows are read backwards: what is a backward message becomes a forward message.

    Args:
        first: the first row.
        last: the row after the last.
        lengths: (B,) int64.
        emissions: (B, T, K).
        transitions: (K, K).
        start: (K,).
        end: (K,).
        tags: (B, T) int64.
        weights: (B, T); or (B, 0) for values alone.
        values: (B, T); holds zeros.
        gradients: (B, T, K), zeros into which the gradients by the emissions are written; of no size
            for values alone.

    Returns:
        Whether all rows could be computed; the float64 gradients by transitions, start and end.
    """
    num_tokens, num_tags = emissions.shape[1:]
    chain = _directed_chain(transitions, start, end, True)
    row = new_row(num_tokens, num_tags)
    directed = np.empty((num_tokens, num_tags))
    path, upstream = np.empty(num_tokens, np.int64), np.empty(num_tokens)
    pairs = np.zeros((num_tags, num_tags))
    by_transitions = np.zeros((num_tags, num_tags))
    by_start, by_end = np.zeros(num_tags), np.zeros(num_tags)
    for b in range(first, last):
        n = lengths[b]
        if n == 0:
            continue
        _direct(emissions[b, :n], True, directed)
        if forward_row(chain, directed[:n], row) < n:
            return False, by_transitions, by_start, by_end
        for t in range(n):
            path[t] = tags[b, n - 1 - t]
        _write_conditionals(chain, path[:n], row, values[b, :n])
        if weights.shape[1] == 0:
            continue
        for t in range(n):
            is_possible = values[b, n - 1 - t] > -np.inf
            upstream[t] = weights[b, n - 1 - t] if is_possible else 0.0
        adjoint_row(chain, n, upstream[:n], path[:n], row, pairs)
        for t in range(n):
            for k in range(num_tags):
                gradients[b, n - 1 - t, k] = row.adjoint[t, k]
            if t < n - 1:
                by_transitions[path[t + 1], path[t]] += upstream[t]
        for k in range(num_tags):
            by_start[k] += row.adjoint[n - 1, k]
            by_end[k] += row.adjoint[0, k]
    for i in range(num_tags):
        for k in range(num_tags):
            by_transitions[i, k] += pairs[k, i] * chain.entering[i, k]
    return True, by_transitions, by_start, by_end


@kernel
def _write_conditionals(chain: Chain, path: np.ndarray, row: Row, values: np.ndarray) -> None:
    """Writes log p(y_t | y_{t+1}, prefix) of the directed `path` into `values`, backwards."""
    n = len(path)
    total = 0.0
    for k in range(len(chain.end)):
        total += row.messages[n - 1, k] * chain.closing[k]
    log_share = chain.end[path[n - 1]] - chain.end_peak - np.log(total)
    values[0] = np.log(row.messages[n - 1, path[n - 1]]) + log_share
    for t in range(n - 1):
        log_share = chain.transitions[path[t], path[t + 1]] - chain.transition_peak
        arriving = row.arriving[t + 1, path[t + 1]]
        if arriving == 0.0 or log_share == -np.inf:
            values[n - 1 - t] = -np.inf
        else:
            values[n - 1 - t] = np.log(row.messages[t, path[t]]) + log_share - np.log(arriving)
    for t in range(1, n):
        if values[t - 1] == -np.inf:
            values[t] = -np.inf


@kernel
def arrival_rows(
    first: int,
    last: int,
    lengths: np.ndarray,
    emissions: np.ndarray,
    transitions: np.ndarray,
    start: np.ndarray,
    end: np.ndarray,
    from_the_end: bool,
    arrivals: np.ndarray,
) -> None:
    """Writes the log-sums of all prefixes that arrive at each tag, its emission left out.

    Args:
        first: the first row.
        last: the row after the last.
        lengths: (B,) int64.
        emissions: (B, T, K).
        transitions: (K, K).
        start: (K,).
        end: (K,).
        from_the_end: whether rows are read backwards, so that suffixes take the place of prefixes.
        arrivals: (B, T, K); holds -inf.
    """
    num_tags = emissions.shape[2]
    chain = _directed_chain(transitions, start, end, from_the_end)
    start_peak = peak_of(chain.start)
    row = new_row(emissions.shape[1], num_tags)
    directed = np.empty(emissions.shape[1:])
    for b in range(first, last):
        n = lengths[b]
        if n == 0:
            continue
        _direct(emissions[b, :n], from_the_end, directed)
        reached = forward_row(chain, directed[:n], row)
        in_log_space = reached < 0
        if in_log_space:
            reached = forward_row_in_log_space(chain, directed[:n], row)
        log_partition = 0.0
        for t in range(min(reached + 1, n)):
            shift = start_peak if t == 0 else chain.transition_peak
            out = arrivals[b, n - 1 - t if from_the_end else t]
            for k in range(num_tags):
                if in_log_space:
                    out[k] = row.arriving[t, k] + log_partition
                else:
                    out[k] = np.log(row.arriving[t, k]) + shift + log_partition
            log_partition += row.log_normalizers[t]


@kernel
def _directed_chain(
    transitions: np.ndarray, start: np.ndarray, end: np.ndarray, from_the_end: bool
) -> Chain:
    if from_the_end:
        return new_chain(np.ascontiguousarray(transitions.T), end, start)
    return new_chain(transitions, start, end)


@kernel
def _direct(emissions: np.ndarray, from_the_end: bool, directed: np.ndarray) -> None:
    """Writes a row's `emissions`, (n, K), to `directed`, backwards if so asked."""
    n = len(emissions)
    for t in range(n):
        for k in range(emissions.shape[1]):
            directed[t, k] = emissions[n - 1 - t if from_the_end else t, k]
