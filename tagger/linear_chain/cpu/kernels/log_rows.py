"""Kernels in log space, for the rows that probability space cannot hold: slow, exact for any scores.

They take float64 scores alone, and are compiled only where such a row occurs. Those over shares take
gold tags as sets alone.

The share of a tag at a token is the probability of all paths through it: given the row alone, that is
its marginal; given also that the tags before lie in the gold sets, what the chain rule multiplies.

Letters: `n` is the number of real tokens of a row; see `batch` for the others and the arguments.
"""

from typing import NamedTuple, Optional

import numpy as np

from tagger.linear_chain.cpu.kernels.adjoints import add_adjoint, adjoint_row_in_log_space
from tagger.linear_chain.cpu.kernels.batch import (
    Batch,
    SharedGradients,
    new_shared_gradients,
    weigh_steps,
)
from tagger.linear_chain.cpu.kernels.messages import (
    Chain,
    Row,
    chain_of,
    forward_row_in_log_space,
    new_row,
    shares_before,
)
from tagger.linear_chain.cpu.kernels.sum_product import (
    restrict,
    steps_of,
    subtract_path,
    write_set_steps,
)
from tagger.linear_chain.kernels.compilation import kernel
from tagger.linear_chain.kernels.exponentials import log_sum, normalize


@kernel
def log_gradient_rows(
    first: int,
    last: int,
    batch: Batch,
    gold_tags: Optional[np.ndarray],
    weights: np.ndarray,
    is_total: bool,
    values: np.ndarray,
    by_emissions: np.ndarray,
) -> np.ndarray:
    """As `sum_product.gradient_rows`, for a path or no gold tags."""
    num_tokens, num_tags = batch.emissions.shape[1:]
    chain = chain_of(batch, False)
    row, upstream = new_row(num_tokens, num_tags), np.empty(num_tokens)
    shared = new_shared_gradients(num_tags)
    sign = 1.0 if gold_tags is None else -1.0
    for b in range(first, last):
        n = batch.lengths[b]
        if n == 0:
            continue
        reached = forward_row_in_log_space(chain, batch.emissions[b, :n], row)
        steps = steps_of(chain, batch, b, gold_tags, row)
        weigh_steps(steps, weights[b], is_total, values[b], upstream)
        for t in range(n):
            upstream[t] *= sign
        _add_derivatives(chain, n, reached, upstream, row, shared, by_emissions[b])
        if gold_tags is not None:
            subtract_path(gold_tags[b, :n], upstream, by_emissions[b], shared)
    return shared.flat


@kernel
def log_set_gradient_rows(
    first: int,
    last: int,
    batch: Batch,
    gold_tags: np.ndarray,
    weights: np.ndarray,
    is_total: bool,
    values: np.ndarray,
    by_emissions: np.ndarray,
) -> np.ndarray:
    """As `sum_product.set_gradient_rows`."""
    num_tokens, num_tags = batch.emissions.shape[1:]
    chain = chain_of(batch, False)
    whole, part = new_row(num_tokens, num_tags), new_row(num_tokens, num_tags)
    steps, upstream = np.empty(num_tokens), np.empty(num_tokens)
    allowed = np.empty((num_tokens, num_tags))
    shared = new_shared_gradients(num_tags)
    for b in range(first, last):
        n = batch.lengths[b]
        if n == 0:
            continue
        restrict(batch.emissions[b, :n], gold_tags[b], allowed)
        of_whole = forward_row_in_log_space(chain, batch.emissions[b, :n], whole)
        of_part = forward_row_in_log_space(chain, allowed[:n], part)
        write_set_steps(part, whole, steps[:n])
        weigh_steps(steps[:n], weights[b], is_total, values[b], upstream)
        _add_derivatives(chain, n, of_part, upstream, part, shared, by_emissions[b])
        for t in range(n):
            upstream[t] = -upstream[t]
        _add_derivatives(chain, n, of_whole, upstream, whole, shared, by_emissions[b])
    return shared.flat


@kernel
def _add_derivatives(
    chain: Chain,
    n: int,
    reached: int,
    upstream: np.ndarray,
    row: Row,
    shared: SharedGradients,
    by_emissions: np.ndarray,
) -> None:
    """Adds the derivatives of `sum_t upstream[t] log_normalizers[t]` of a row in log space."""
    if reached > 0:
        adjoint_row_in_log_space(chain, reached, upstream, row, shared.transitions)
        add_adjoint(n, reached, row, shared, by_emissions)


@kernel
def log_share_rows(
    first: int,
    last: int,
    batch: Batch,
    gold_tags: np.ndarray,
    weights: np.ndarray,
    is_total: bool,
    values: np.ndarray,
    by_emissions: np.ndarray,
    given_gold: bool,
) -> np.ndarray:
    """Differentiates the sum over tokens of a weight times the log-share of the gold sets.

    With `given_gold` the tags before are given to be gold: conditionals, not marginals.
    """
    num_tokens, num_tags = batch.emissions.shape[1:]
    shared = new_shared_gradients(num_tags)
    every_tag = np.ones((num_tokens, num_tags), np.bool_)
    upstream = np.empty(num_tokens)
    for b in range(first, last):
        n = batch.lengths[b]
        if n == 0:
            continue
        allowed = gold_tags[b, :n]
        shares = _shares_of(batch, b, allowed if given_gold else every_tag[:n])
        steps = _of_sets(shares, allowed)
        weigh_steps(steps, weights[b], is_total, values[b], upstream)
        by_shares = np.zeros((n, num_tags))
        for t in range(n):
            if steps[t] == -np.inf:
                continue
            for k in range(num_tags):
                share = shares.logarithms[t, k]
                inside = np.exp(share - steps[t]) if allowed[t, k] else 0.0
                by_shares[t, k] = upstream[t] * (inside - np.exp(share))
        _differentiate(shares, by_shares, by_emissions[b], shared)
    return shared.flat


@kernel
def log_marginal_rows(
    first: int,
    last: int,
    batch: Batch,
    gold_tags: None,
    weights: np.ndarray,
    is_total: bool,
    values: np.ndarray,
    by_emissions: np.ndarray,
) -> np.ndarray:
    """As `marginals.marginal_gradient_rows`, for the marginals of all tags."""
    num_tokens, num_tags = batch.emissions.shape[1:]
    shared = new_shared_gradients(num_tags)
    every_tag = np.ones((num_tokens, num_tags), np.bool_)
    for b in range(first, last):
        n = batch.lengths[b]
        if n == 0:
            continue
        shares = _shares_of(batch, b, every_tag[:n])
        by_shares = np.empty((n, num_tags))
        for t in range(n):
            expected = 0.0
            for k in range(num_tags):
                by_shares[t, k] = values[b, t, k] = np.exp(shares.logarithms[t, k])
                expected += by_shares[t, k] * weights[b, t, k]
            for k in range(num_tags):
                by_shares[t, k] *= weights[b, t, k] - expected
        _differentiate(shares, by_shares, by_emissions[b], shared)
    return shared.flat


class _Shares(NamedTuple):
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
def _shares_of(batch: Batch, b: int, prefix_tags: np.ndarray) -> _Shares:
    """The shares of row `b` among the paths whose tags before each token are in `prefix_tags`.

    Args:
        batch: A `Batch`.
        b: The row; it has a token.
        prefix_tags: (n, K) bool; true everywhere for marginals.
    """
    n, num_tags = prefix_tags.shape
    emissions, restricted = np.empty((n, num_tags)), np.empty((n, num_tags))
    restrict(batch.emissions[b, :n], prefix_tags, restricted)
    for t in range(n):
        for k in range(num_tags):
            emissions[n - 1 - t, k] = batch.emissions[b, t, k]
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
    return _Shares(forward, backward, prefixes, suffixes, logarithms)


@kernel
def _of_sets(shares: _Shares, allowed: np.ndarray) -> np.ndarray:
    """The log-share of each token's set of tags, (n,); `allowed` is (n, K) bool."""
    n, num_tags = allowed.shape
    values, chosen = np.empty(n), np.empty(num_tags)
    for t in range(n):
        for k in range(num_tags):
            chosen[k] = shares.logarithms[t, k] if allowed[t, k] else -np.inf
        values[t] = log_sum(chosen)
    return values


@kernel
def _differentiate(
    shares: _Shares, upstream: np.ndarray, by_emissions: np.ndarray, shared: SharedGradients
) -> None:
    """Differentiates `sum_tk upstream[t, k] (R[t, k] + e[t, k] + B[t, k])`.

    `R` and `B` arrive with the prefixes and the suffixes, up to a constant for each token, of which
    nothing depends: the sum over the tags of each `upstream[t]` is 0.

    Args:
        shares: The row's.
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
