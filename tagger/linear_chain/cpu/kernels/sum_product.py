"""Kernels over the sum of all paths: log normalisers, likelihoods, their gradients, marginals.

Letters: `n` is the number of real tokens of a row; see `batch` for the others and the arguments.
"""

from typing import Optional

import numpy as np

from tagger.linear_chain.cpu.kernels.adjoints import (
    add_adjoint,
    adjoint_row,
    adjoint_row_in_log_space,
)
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
    forward_row,
    new_row,
    shares_before,
    solve_row,
)
from tagger.linear_chain.kernels.compilation import kernel


@kernel
def forward_rows(
    first: int,
    last: int,
    batch: Batch,
    gold_tags: Optional[np.ndarray],
    is_total: bool,
    values: np.ndarray,
    left: np.ndarray,
) -> None:
    """Writes the log normalisers or, of a path `gold_tags`, the log-likelihoods; unweighted."""
    chain = chain_of(batch, False)
    row = new_row(batch.emissions.shape[1], batch.emissions.shape[2])
    for b in range(first, last):
        n = batch.lengths[b]
        if n == 0:
            continue
        left[b] = forward_row(chain, batch.emissions[b, :n], row) < 0
        if left[b]:
            continue
        steps = steps_of(chain, batch, b, gold_tags, row)
        if is_total:
            values[b, 0] = steps.sum()
        else:
            for t in range(n):
                values[b, t] = steps[t]


@kernel
def gradient_rows(
    first: int,
    last: int,
    batch: Batch,
    gold_tags: Optional[np.ndarray],
    weights: np.ndarray,
    is_total: bool,
    values: np.ndarray,
    by_emissions: np.ndarray,
    left: np.ndarray,
) -> np.ndarray:
    """Differentiates what `forward_rows` writes."""
    num_tokens, num_tags = batch.emissions.shape[1:]
    chain = chain_of(batch, False)
    row = new_row(num_tokens, num_tags)
    upstream = np.empty(num_tokens)
    pairs = np.zeros((num_tags, num_tags))
    shared = new_shared_gradients(num_tags)
    # Log-likelihoods contain the log normalisers with a minus sign.
    sign = 1.0 if gold_tags is None else -1.0
    for b in range(first, last):
        n = batch.lengths[b]
        if n == 0:
            continue
        reached = forward_row(chain, batch.emissions[b, :n], row)
        left[b] = reached < 0
        if left[b]:
            continue
        steps = steps_of(chain, batch, b, gold_tags, row)
        weigh_steps(steps, weights[b], is_total, values[b], upstream)
        # Fresh memory is written before it is read, since it would be mapped twice otherwise.
        for t in range(n):
            upstream[t] *= sign
            for k in range(num_tags):
                by_emissions[b, t, k] = 0.0
        _add_derivatives(chain, n, reached, upstream, row, pairs, shared, by_emissions[b])
        if gold_tags is not None:
            subtract_path(gold_tags[b, :n], upstream, by_emissions[b], shared)
    for i in range(num_tags):
        for k in range(num_tags):
            shared.transitions[i, k] += pairs[i, k] * chain.leaving[i, k]
    return shared.flat


@kernel
def set_gradient_rows(
    first: int,
    last: int,
    batch: Batch,
    gold_tags: np.ndarray,
    weights: np.ndarray,
    is_total: bool,
    values: np.ndarray,
    by_emissions: np.ndarray,
    left: np.ndarray,
) -> np.ndarray:
    """As `gradient_rows`, for sets of gold tags.

    The values are the log normalisers of the chain that the sets allow, less those of the whole chain.
    """
    num_tokens, num_tags = batch.emissions.shape[1:]
    chain = chain_of(batch, False)
    whole, part = new_row(num_tokens, num_tags), new_row(num_tokens, num_tags)
    allowed, gradient = np.empty((num_tokens, num_tags)), np.empty((num_tokens, num_tags))
    steps, upstream = np.empty(num_tokens), np.empty(num_tokens)
    pairs, shared = np.zeros((num_tags, num_tags)), new_shared_gradients(num_tags)
    for b in range(first, last):
        n = batch.lengths[b]
        if n == 0:
            continue
        restrict(batch.emissions[b, :n], gold_tags[b], allowed)
        gradient[:n].fill(0.0)
        of_whole = forward_row(chain, batch.emissions[b, :n], whole)
        of_part = forward_row(chain, allowed[:n], part)
        left[b] = of_whole < 0 or of_part < 0
        if left[b]:
            continue
        write_set_steps(part, whole, steps[:n])
        weigh_steps(steps[:n], weights[b], is_total, values[b], upstream)
        _add_derivatives(chain, n, of_part, upstream, part, pairs, shared, gradient)
        for t in range(n):
            upstream[t] = -upstream[t]
        _add_derivatives(chain, n, of_whole, upstream, whole, pairs, shared, gradient)
        for t in range(n):
            for k in range(num_tags):
                by_emissions[b, t, k] = gradient[t, k]
    for i in range(num_tags):
        for k in range(num_tags):
            shared.transitions[i, k] += pairs[i, k] * chain.leaving[i, k]
    return shared.flat


@kernel
def restrict(emissions: np.ndarray, allowed: np.ndarray, restricted: np.ndarray) -> None:
    """Copies a row's emissions, (n, K), with -inf at the tags that are not `allowed`, (n, K) bool."""
    for t in range(len(emissions)):
        for k in range(emissions.shape[1]):
            restricted[t, k] = emissions[t, k] if allowed[t, k] else -np.inf


@kernel
def write_set_steps(part: Row, whole: Row, steps: np.ndarray) -> None:
    """Writes the log normalisers of the chain that sets allow less those of the whole chain, (n,)."""
    for t in range(len(steps)):
        steps[t] = part.log_normalizers[t]
        if steps[t] > -np.inf:
            steps[t] -= whole.log_normalizers[t]


@kernel
def _add_derivatives(
    chain: Chain,
    n: int,
    reached: int,
    upstream: np.ndarray,
    row: Row,
    pairs: np.ndarray,
    shared: SharedGradients,
    by_emissions: np.ndarray,
) -> None:
    """Adds the derivatives of `sum_t upstream[t] log_normalizers[t]`, from `forward_row`."""
    if reached > 0:
        adjoint_row(chain, reached, upstream, row, pairs)
        add_adjoint(n, reached, row, shared, by_emissions)


@kernel
def steps_of(
    chain: Chain, batch: Batch, b: int, gold_tags: Optional[np.ndarray], row: Row
) -> np.ndarray:
    """One row's log normalisers, or by how much the scores of its gold path exceed them, (n,).

    They take the place of the log normalisers.
    """
    n = batch.lengths[b]
    steps = row.log_normalizers[:n]
    if gold_tags is None:
        return steps
    for t in range(n):
        if steps[t] > -np.inf:
            k = gold_tags[b, t]
            arrival = chain.transitions[gold_tags[b, t - 1], k] if t else chain.start[k]
            ending = chain.end[k] if t == n - 1 else 0.0
            steps[t] = batch.emissions[b, t, k] + arrival + ending - steps[t]
    return steps


@kernel
def subtract_path(
    path: np.ndarray, upstream: np.ndarray, by_emissions: np.ndarray, shared: SharedGradients
) -> None:
    """Subtracts the derivatives of `sum_t upstream[t] step_score[t]` of a path, (n,)."""
    n = len(path)
    for t in range(n):
        by_emissions[t, path[t]] -= upstream[t]
        if t:
            shared.transitions[path[t - 1], path[t]] -= upstream[t]
    shared.start[path[0]] -= upstream[0]
    shared.end[path[n - 1]] -= upstream[n - 1]


@kernel
def transition_marginal_rows(first: int, last: int, batch: Batch, marginals: np.ndarray) -> None:
    """Writes the transition marginals, (B, T - 1, K, K)."""
    num_tokens, num_tags = batch.emissions.shape[1:]
    chain = chain_of(batch, False)
    row = new_row(num_tokens, num_tags)
    upstream, unused = np.ones(num_tokens), np.zeros((num_tags, num_tags))
    shares = np.empty(num_tags)
    for b in range(first, last):
        n = batch.lengths[b]
        if n < 2:
            continue
        reached, in_log_space = solve_row(chain, batch.emissions[b, :n], row)
        if reached < n:
            continue
        if not in_log_space:
            adjoint_row(chain, n, upstream, row, unused)
            for t in range(1, n):
                for i in range(num_tags):
                    for k in range(num_tags):
                        share = chain.leaving[i, k] * row.arriving[t, k]
                        marginals[b, t - 1, i, k] = row.messages[t - 1, i] * share
            continue
        adjoint_row_in_log_space(chain, n, upstream, row, unused)
        for t in range(1, n):
            for k in range(num_tags):
                if row.adjoint[t, k] > 0.0:
                    shares_before(chain, row, t, k, shares)
                    for i in range(num_tags):
                        marginals[b, t - 1, i, k] = row.adjoint[t, k] * shares[i]
