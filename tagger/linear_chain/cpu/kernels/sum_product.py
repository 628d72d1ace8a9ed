"""Kernels over the sum of all paths: log normalisers, likelihoods, their gradients, marginals.

Letters: `n` the real tokens of a row; see the package for `B`, `T`, `K`.
"""

from typing import Tuple

import numpy as np

from tagger.kernels.compilation import kernel
from tagger.linear_chain.cpu.kernels.adjoints import adjoint_row, adjoint_row_in_log_space
from tagger.linear_chain.cpu.kernels.messages import (
    Chain,
    forward_row,
    forward_row_in_log_space,
    new_chain,
    new_row,
)


@kernel
def _row_values(
    chain: Chain,
    emissions: np.ndarray,
    tags: np.ndarray,
    log_normalizers: np.ndarray,
    values: np.ndarray,
) -> None:
    """Writes the log normalisers, or what they take from the scores of the path `tags`.

    Args:
        chain: a `Chain`.
        emissions: (n, K).
        tags: (n,), or empty for the normalisers alone.
        log_normalizers: (n,).
        values: (n,) for one value a token, or (1,) for their sum.
    """
    num_tokens = len(emissions)
    total = 0.0
    for t in range(num_tokens):
        value = log_normalizers[t]
        if len(tags) and value > -np.inf:
            arrival = chain.transitions[tags[t - 1], tags[t]] if t else chain.start[tags[t]]
            ending = chain.end[tags[t]] if t == num_tokens - 1 else 0.0
            value = emissions[t, tags[t]] + arrival + ending - value
        total += value
        if len(values) > 1:
            values[t] = value
    if len(values) == 1:
        values[0] = total


@kernel
def forward_rows(
    first: int,
    last: int,
    lengths: np.ndarray,
    emissions: np.ndarray,
    transitions: np.ndarray,
    start: np.ndarray,
    end: np.ndarray,
    tags: np.ndarray,
    values: np.ndarray,
) -> None:
    """Writes the log normalisers, or the log-likelihoods of `tags`, of rows `first` to `last`.

    Args:
        first: the first row.
        last: the row after the last.
        lengths: (B,) int64.
        emissions: (B, T, K).
        transitions: (K, K).
        start: (K,).
        end: (K,).
        tags: (B, T) int64 for log-likelihoods; (B, 0) for log normalisers.
        values: (B, T) for one value a token, or (B, 1) for their sum; holds zeros.
    """
    chain = new_chain(transitions, start, end)
    row = new_row(emissions.shape[1], emissions.shape[2])
    for b in range(first, last):
        if lengths[b] > 0:
            own = emissions[b, : lengths[b]]
            if forward_row(chain, own, row) < 0:
                forward_row_in_log_space(chain, own, row)
            _row_values(chain, own, tags[b], row.log_normalizers, values[b])


@kernel
def _weigh(
    values: np.ndarray, weights: np.ndarray, num_tokens: int, sign: float, upstream: np.ndarray
) -> None:
    """Writes the weight of each token's log normaliser: none where the value is -inf."""
    for t in range(num_tokens):
        step = t if len(values) > 1 else 0
        upstream[t] = 0.0 if values[step] == -np.inf else sign * weights[step]


@kernel
def gradient_rows(
    first: int,
    last: int,
    lengths: np.ndarray,
    emissions: np.ndarray,
    transitions: np.ndarray,
    start: np.ndarray,
    end: np.ndarray,
    tags: np.ndarray,
    values: np.ndarray,
    weights: np.ndarray,
    gradients: np.ndarray,
) -> Tuple[np.ndarray, np.ndarray, np.ndarray]:
    """As `forward_rows`, and differentiates the sum of `weights` times `values`.

    Takes what `forward_rows` takes, `weights`, shaped as `values`, and `gradients`, (B, T, K), zeros
    into which the gradients by the emissions are written.

    Returns:
        The float64 gradients by transitions, start and end.
    """
    num_tokens, num_tags = emissions.shape[1:]
    chain = new_chain(transitions, start, end)
    row = new_row(num_tokens, num_tags)
    upstream = np.empty(num_tokens)
    pairs = np.zeros((num_tags, num_tags))
    by_transitions = np.zeros((num_tags, num_tags))
    by_start, by_end = np.zeros(num_tags), np.zeros(num_tags)
    sign = -1.0 if tags.shape[1] else 1.0
    for b in range(first, last):
        n = lengths[b]
        if n == 0:
            continue
        own = emissions[b, :n]
        reached = forward_row(chain, own, row)
        underflows = reached < 0
        if underflows:
            reached = forward_row_in_log_space(chain, own, row)
        _row_values(chain, own, tags[b], row.log_normalizers, values[b])
        _weigh(values[b], weights[b], n, sign, upstream)
        if reached > 0:
            if underflows:
                adjoint_row_in_log_space(chain, reached, upstream, row, by_transitions)
            else:
                adjoint_row(chain, reached, upstream, tags[b, :0], row, pairs)
            for t in range(reached):
                for k in range(num_tags):
                    gradients[b, t, k] = row.adjoint[t, k]
            for k in range(num_tags):
                by_start[k] += row.adjoint[0, k]
                if reached == n:
                    by_end[k] += row.adjoint[n - 1, k]
        if tags.shape[1]:
            for t in range(n):
                k = tags[b, t]
                gradients[b, t, k] -= upstream[t]
                if t:
                    by_transitions[tags[b, t - 1], k] -= upstream[t]
                else:
                    by_start[k] -= upstream[t]
                if t == n - 1:
                    by_end[k] -= upstream[t]
    for i in range(num_tags):
        for k in range(num_tags):
            by_transitions[i, k] += pairs[i, k] * chain.leaving[i, k]
    return by_transitions, by_start, by_end


@kernel
def transition_marginal_rows(
    first: int,
    last: int,
    lengths: np.ndarray,
    emissions: np.ndarray,
    transitions: np.ndarray,
    start: np.ndarray,
    end: np.ndarray,
    marginals: np.ndarray,
) -> None:
    """Writes the transition marginals into `marginals`, (B, T - 1, K, K), which holds zeros.

    The other arguments are those of `forward_rows`.
    """
    num_tokens, num_tags = emissions.shape[1:]
    chain = new_chain(transitions, start, end)
    row = new_row(num_tokens, num_tags)
    upstream = np.ones(num_tokens)
    unused, no_tags = np.zeros((num_tags, num_tags)), lengths[:0]
    for b in range(first, last):
        n = lengths[b]
        if n < 2:
            continue
        own = emissions[b, :n]
        reached = forward_row(chain, own, row)
        underflows = reached < 0
        if underflows:
            reached = forward_row_in_log_space(chain, own, row)
        if reached < n:
            continue
        if underflows:
            adjoint_row_in_log_space(chain, n, upstream, row, unused)
        else:
            adjoint_row(chain, n, upstream, no_tags, row, unused)
        for t in range(1, n):
            for i in range(num_tags):
                for k in range(num_tags):
                    if not underflows:
                        share = chain.leaving[i, k] * row.arriving[t, k]
                        marginals[b, t - 1, i, k] = row.messages[t - 1, i] * share
                    elif row.adjoint[t, k] > 0.0:
                        step = chain.transitions[i, k] - row.arriving[t, k]
                        share = np.exp(row.messages[t - 1, i] + step)
                        marginals[b, t - 1, i, k] = row.adjoint[t, k] * share
