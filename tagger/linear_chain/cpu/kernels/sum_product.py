"""Kernels over the sum of all paths: log normalisers, likelihoods, transition marginals, messages.

Letters: `n` is the number of real tokens of a row; see `batch` for the others and the arguments.
"""

import numpy as np

from tagger.linear_chain.cpu.kernels.adjoints import adjoint_row
from tagger.linear_chain.cpu.kernels.batch import (
    Batch,
    SharedGradients,
    new_shared_gradients,
    weigh_steps,
)
from tagger.linear_chain.cpu.kernels.messages import (
    RowScratch,
    SharedScores,
    log_before,
    new_row,
    peak_of,
    shared_scores_of,
    solve_row,
)
from tagger.linear_chain.kernels.compilation import kernel


@kernel
def step_rows(
    first: int,
    last: int,
    batch: Batch,
    path: np.ndarray,
    sets: np.ndarray,
    weights: np.ndarray,
    is_total: bool,
    values: np.ndarray,
    by_emissions: np.ndarray,
) -> np.ndarray:
    """Log normalisers, or each token's share of the log-likelihood of the gold tags."""
    has_path, has_sets, has_gradients = len(path) > 0, len(sets) > 0, len(by_emissions) > 0
    num_tokens, num_tags = batch.emissions.shape[1:]
    chain, row = shared_scores_of(batch, False), new_row(num_tokens, num_tags)
    upstream = np.empty(num_tokens)
    pairs, shared = np.zeros((num_tags, num_tags)), new_shared_gradients(num_tags)
    # For the chain restricted to sets of tags
    part = new_row(num_tokens if has_sets else 0, num_tags)
    part_emissions = np.empty(part.messages.shape)
    for b in range(first, last):
        n = batch.lengths[b]
        if n == 0:
            continue
        reached, in_log_space = solve_row(chain, batch.emissions[b, :n], row)
        steps, part_reached, part_in_log_space = row.log_normalizers[:n], reached, False
        if has_sets:
            _restrict(batch.emissions[b, :n], sets[b], part_emissions)
            part_reached, part_in_log_space = solve_row(chain, part_emissions[:n], part)
            for t in range(n):
                of_part = part.log_normalizers[t]
                steps[t] = of_part - steps[t] if of_part > -np.inf else of_part
        elif has_path:
            _subtract_from_path(chain, batch.emissions[b], path[b], steps)
        weigh_steps(steps, weights[b], is_total, values[b], upstream)
        if not has_gradients or part_reached == 0:
            continue
        own = upstream[:n]
        if has_sets:
            _add_derivatives(chain, part_reached, part_in_log_space, own, part, pairs, shared)
        if has_path or has_sets:
            # Log-likelihoods contain the log normalisers with a minus sign.
            own *= -1.0
        _add_derivatives(chain, reached, in_log_space, own, row, pairs, shared)
        for t in range(n):
            for k in range(num_tags):
                # No sum of arrays: Numba would compile the message of an error about their shapes.
                by_part = part.adjoint[t, k] if has_sets else 0.0
                by_emissions[b, t, k] = row.adjoint[t, k] + by_part
        if has_path:
            _subtract_path(path[b], own, by_emissions[b], shared)
    for i in range(num_tags):
        for k in range(num_tags):
            shared.transitions[i, k] += pairs[i, k] * chain.leaving[i, k]
    return shared.flat


@kernel
def _add_derivatives(
    chain: SharedScores,
    reached: int,
    in_log_space: bool,
    upstream: np.ndarray,
    row: RowScratch,
    pairs: np.ndarray,
    shared: SharedGradients,
) -> None:
    """Differentiates log normalisers; `row.adjoint` gets the derivatives of the emissions."""
    by_transitions = shared.transitions
    adjoint_row(chain, reached, in_log_space, upstream, None, row, pairs, by_transitions)
    for k in range(len(shared.start)):
        shared.start[k] += row.adjoint[0, k]
        shared.end[k] += row.adjoint[len(upstream) - 1, k]


@kernel
def _restrict(emissions: np.ndarray, allowed: np.ndarray, restricted: np.ndarray) -> None:
    """Writes a row's emissions, (n, K), with -inf at tags that are not allowed."""
    for t in range(len(emissions)):
        for k in range(emissions.shape[1]):
            restricted[t, k] = emissions[t, k] if allowed[t, k] else -np.inf


@kernel
def _subtract_from_path(
    chain: SharedScores, emissions: np.ndarray, path: np.ndarray, steps: np.ndarray
) -> None:
    """Replaces a row's log normalisers, (n,), by the step scores of its path minus them."""
    n = len(steps)
    for t in range(n):
        if steps[t] > -np.inf:
            k = path[t]
            arriving = chain.transitions[path[t - 1], k] if t else chain.start[k]
            ending = chain.end[k] if t == n - 1 else 0.0
            steps[t] = emissions[t, k] + arriving + ending - steps[t]


@kernel
def _subtract_path(
    path: np.ndarray, upstream: np.ndarray, by_emissions: np.ndarray, shared: SharedGradients
) -> None:
    """Subtracts the derivatives of `sum_t upstream[t] step_score[t]` of a path, (T,)."""
    n = len(upstream)
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
    chain, row = shared_scores_of(batch, False), new_row(num_tokens, num_tags)
    upstream, unused = np.ones(num_tokens), np.zeros((num_tags, num_tags))
    before = np.empty(num_tags)
    for b in range(first, last):
        n = batch.lengths[b]
        if n < 2:
            continue
        reached, in_log_space = solve_row(chain, batch.emissions[b, :n], row)
        if reached < n:
            continue
        adjoint_row(chain, n, in_log_space, upstream[:n], None, row, unused, unused)
        for t in range(1, n):
            if in_log_space:
                for k in range(num_tags):
                    if row.adjoint[t, k] > 0.0:
                        log_before(chain, row, t, k, before)
                        for i in range(num_tags):
                            marginals[b, t - 1, i, k] = row.adjoint[t, k] * np.exp(before[i])
            else:
                for i in range(num_tags):
                    for k in range(num_tags):
                        returning = chain.leaving[i, k] * row.arriving[t, k]
                        marginals[b, t - 1, i, k] = row.messages[t - 1, i] * returning


@kernel
def message_rows(
    first: int, last: int, batch: Batch, from_the_end: bool, messages: np.ndarray
) -> None:
    """Writes the log-sums of all prefixes that arrive at each tag, without its emission.

    With `from_the_end`, suffixes take the place of prefixes. `messages`, (B, T, K), must hold -inf.
    """
    num_tokens, num_tags = batch.emissions.shape[1:]
    chain, row = shared_scores_of(batch, from_the_end), new_row(num_tokens, num_tags)
    start_peak = peak_of(chain.start)
    for b in range(first, last):
        n = batch.lengths[b]
        if n == 0:
            continue
        emissions = batch.emissions[b, :n]
        if from_the_end:
            emissions = emissions[::-1].copy()
        reached, in_log_space = solve_row(chain, emissions, row)
        log_partition = 0.0
        for t in range(min(reached + 1, n)):
            shift = start_peak if t == 0 else chain.transition_peak
            out = messages[b, n - 1 - t if from_the_end else t]
            for k in range(num_tags):
                if in_log_space:
                    out[k] = row.arriving[t, k] + log_partition
                else:
                    out[k] = np.log(row.arriving[t, k]) + shift + log_partition
            log_partition += row.log_normalizers[t]
