"""Shares of tags, and their derivatives, of a single row in log space: for rows that underflow.

The share of a tag at a token is the probability of all paths through it: given the row alone, that is
its marginal; given also that the tags before lie in the gold sets, what the chain rule multiplies. All
functions over shares leave rows to these kernels that probability space cannot hold. The kernels are
slow, exact for any scores, and allocate what they need.

Letters: `n` is the number of real tokens of a row; see `batch` for `B`, `T`, `K`.
"""

from typing import NamedTuple, Tuple

import numpy as np

from tagger.kernels.compilation import kernel
from tagger.kernels.exponentials import log_sum, normalize
from tagger.linear_chain.cpu.kernels.batch import Batch, SharedGradients, weigh_steps
from tagger.linear_chain.cpu.kernels.messages import (
    Chain,
    Row,
    chain_of,
    forward_row_in_log_space,
    new_row,
    shares_before,
)


class LogShares(NamedTuple):
    """A row in log space, as its prefixes and its suffixes see it."""

    forward: Chain
    # the chain read from its end
    backward: Chain
    prefixes: Row
    # by tokens from the end
    suffixes: Row
    # (n, K), the logarithm of each tag's share; all -inf at a token that no path reaches
    logarithms: np.ndarray


@kernel
def log_share_steps(
    batch: Batch, b: int, gold_tags: np.ndarray, given_gold: bool
) -> Tuple[np.ndarray, np.ndarray, LogShares]:
    """The log-shares of row `b`'s gold tags.

    Args:
        batch: A `Batch`.
        b: The row; it has a token.
        gold_tags: (B, T) int64 or (B, T, K) bool.
        given_gold: Whether the tags before are given to be gold.

    Returns:
        The log-shares, (n,) float64; the gold tags as sets, (n, K) bool; and the shares.
    """
    allowed = _allowed_of(gold_tags, b, batch.lengths[b], batch.emissions.shape[2])
    shares = log_shares_of(batch, b, allowed if given_gold else np.ones_like(allowed))
    return _of_sets(shares, allowed), allowed, shares


@kernel
def differentiate_log_share_row(
    batch: Batch,
    b: int,
    gold_tags: np.ndarray,
    given_gold: bool,
    weights: np.ndarray,
    is_total: bool,
    values: np.ndarray,
    by_emissions: np.ndarray,
    shared: SharedGradients,
) -> None:
    """Writes the log-shares of row `b`'s gold tags, and differentiates their weighted sum.

    Args:
        batch: As for `log_share_steps`, and so are the next three.
        b: The row.
        gold_tags: See there.
        given_gold: See there.
        weights: The row's, as for `weigh_steps`, and so are the next two.
        is_total: See there.
        values: See there.
        by_emissions: (T, K), to which the derivatives by the row's emissions are written.
        shared: The other derivatives are added here.
    """
    steps, allowed, shares = log_share_steps(batch, b, gold_tags, given_gold)
    upstream = np.empty(len(steps))
    weigh_steps(steps, weights, is_total, values, upstream)
    by_shares = np.zeros(allowed.shape)
    for t in range(len(steps)):
        if steps[t] == -np.inf:
            continue
        for k in range(allowed.shape[1]):
            share = shares.logarithms[t, k]
            inside = np.exp(share - steps[t]) if allowed[t, k] else 0.0
            by_shares[t, k] = upstream[t] * (inside - np.exp(share))
    _differentiate(shares, by_shares, by_emissions, shared)


@kernel
def _allowed_of(gold_tags: np.ndarray, b: int, n: int, num_tags: int) -> np.ndarray:
    """The tags that row `b` may have, (n, K) bool, of gold tags (B, T) int64 or (B, T, K) bool."""
    allowed = np.zeros((n, num_tags), np.bool_)
    for t in range(n):
        if gold_tags.ndim == 2:
            allowed[t, gold_tags[b, t]] = True
        else:
            for k in range(num_tags):
                allowed[t, k] = gold_tags[b, t, k]
    return allowed


@kernel
def log_shares_of(batch: Batch, b: int, prefix_tags: np.ndarray) -> LogShares:
    """The shares of row `b` among the paths whose tags before each token are in `prefix_tags`.

    Args:
        batch: A `Batch`.
        b: The row; it has a token.
        prefix_tags: (n, K) bool; true everywhere for marginals.
    """
    n, num_tags = prefix_tags.shape
    emissions, restricted = np.empty((n, num_tags)), np.empty((n, num_tags))
    for t in range(n):
        for k in range(num_tags):
            emissions[n - 1 - t, k] = batch.emissions[b, t, k]
            restricted[t, k] = batch.emissions[b, t, k] if prefix_tags[t, k] else -np.inf
    forward, backward = chain_of(batch, False), chain_of(batch, True)
    prefixes, suffixes = new_row(n, num_tags), new_row(n, num_tags)
    # The token at which a recursion ends still has arrivals.
    last = min(forward_row_in_log_space(forward, restricted, prefixes), n - 1)
    first = n - 1 - min(forward_row_in_log_space(backward, emissions, suffixes), n - 1)
    logarithms = np.full((n, num_tags), -np.inf)
    for t in range(first, last + 1):
        for k in range(num_tags):
            following = suffixes.arriving[n - 1 - t, k] + batch.emissions[b, t, k]
            logarithms[t, k] = prefixes.arriving[t, k] + following
        normalize(logarithms[t])
    return LogShares(forward, backward, prefixes, suffixes, logarithms)


@kernel
def _of_sets(shares: LogShares, allowed: np.ndarray) -> np.ndarray:
    """The log-share of each token's set of tags, (n,); `allowed` is (n, K) bool."""
    n, num_tags = allowed.shape
    values, chosen = np.empty(n), np.empty(num_tags)
    for t in range(n):
        for k in range(num_tags):
            chosen[k] = shares.logarithms[t, k] if allowed[t, k] else -np.inf
        values[t] = log_sum(chosen)
    return values


@kernel
def differentiate_share_row(
    batch: Batch,
    b: int,
    weights: np.ndarray,
    by_emissions: np.ndarray,
    shared: SharedGradients,
) -> None:
    """Differentiates the sum of `weights`, (T, K), times row `b`'s marginals.

    Args:
        batch: A `Batch`.
        b: The row; it has a token.
        weights: (T, K).
        by_emissions: (T, K), to which the derivatives by the row's emissions are written.
        shared: The other derivatives are added here.
    """
    n, num_tags = batch.lengths[b], batch.emissions.shape[2]
    shares = log_shares_of(batch, b, np.ones((n, num_tags), np.bool_))
    by_shares = np.exp(shares.logarithms)
    for t in range(n):
        expected = 0.0
        for k in range(num_tags):
            expected += by_shares[t, k] * weights[t, k]
        for k in range(num_tags):
            by_shares[t, k] *= weights[t, k] - expected
    _differentiate(shares, by_shares, by_emissions, shared)


@kernel
def _differentiate(
    shares: LogShares, upstream: np.ndarray, by_emissions: np.ndarray, shared: SharedGradients
) -> None:
    """Differentiates `sum_tk upstream[t, k] (R[t, k] + e[t, k] + B[t, k])`.

    `R` and `B` arrive with the prefixes and the suffixes, up to a constant for each token, of which
    nothing depends: the sum over the tags of each `upstream[t]` is 0.

    Args:
        shares: `LogShares`.
        upstream: (n, K).
        by_emissions: (n, K) or longer, to which the derivatives are written.
        shared: The other derivatives are added here.
    """
    n, num_tags = upstream.shape
    reversed_upstream, by_reversed = upstream[::-1].copy(), np.zeros((num_tags, num_tags))
    _differentiate_arrivals(shares.forward, shares.prefixes, upstream, shared.transitions)
    _differentiate_arrivals(shares.backward, shares.suffixes, reversed_upstream, by_reversed)
    for t in range(n):
        for k in range(num_tags):
            arriving = shares.prefixes.adjoint[t, k] + shares.suffixes.adjoint[n - 1 - t, k]
            by_emissions[t, k] = upstream[t, k] + arriving
    for k in range(num_tags):
        shared.start[k] += upstream[0, k] + shares.prefixes.adjoint[0, k]
        shared.end[k] += upstream[n - 1, k] + shares.suffixes.adjoint[0, k]
        for i in range(num_tags):
            shared.transitions[i, k] += by_reversed[k, i]


@kernel
def _differentiate_arrivals(
    chain: Chain, row: Row, upstream: np.ndarray, by_transitions: np.ndarray
) -> None:
    """Differentiates `sum_tk upstream[t, k] R[t, k]` of a row in log space.

    Fills `row.adjoint` with the derivatives by the emissions, and adds to those by the transitions.
    """
    n, num_tags = upstream.shape
    shares = np.empty(num_tags)
    row.adjoint.fill(0.0)
    for t in range(n - 1, 0, -1):
        for k in range(num_tags):
            by_arrival = upstream[t, k] + row.adjoint[t, k]
            if by_arrival == 0.0:
                continue
            shares_before(chain, row, t, k, shares)
            for i in range(num_tags):
                share = by_arrival * shares[i]
                row.adjoint[t - 1, i] += share
                by_transitions[i, k] += share
