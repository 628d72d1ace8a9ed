"""Kernels over the probability of each tag given the one before, and over prefixes or suffixes.

Letters: `n` is the number of real tokens of a row; see `batch` for the others and the arguments.
"""

import numpy as np

from tagger.linear_chain.cpu.kernels.adjoints import conditional_adjoint_row
from tagger.linear_chain.cpu.kernels.batch import (
    Batch,
    new_shared_gradients,
    weigh_steps,
)
from tagger.linear_chain.cpu.kernels.messages import (
    Chain,
    Row,
    chain_of,
    forward_row,
    new_row,
    peak_of,
    solve_row,
)
from tagger.linear_chain.kernels.compilation import kernel


@kernel
def conditional_gradient_rows(
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
    """Differentiates the sum over tokens of a weight times log p(y_t | y_{t-1}, x).

    `gold_tags` are a path; `log_rows` computes sets. Rows are read from the end, so that backward
    messages become forward messages. `left` gets the rows without a possible path too.
    """
    num_tokens, num_tags = batch.emissions.shape[1:]
    chain = chain_of(batch, True)
    row = new_row(num_tokens, num_tags)
    directed, path = np.empty((num_tokens, num_tags)), np.empty(num_tokens, np.int64)
    steps, upstream, directed_upstream = np.empty((3, num_tokens))
    pairs = np.zeros((num_tags, num_tags))
    shared = new_shared_gradients(num_tags)
    for b in range(first, last):
        n = batch.lengths[b]
        if n == 0:
            continue
        _direct(batch.emissions[b, :n], True, directed)
        left[b] = forward_row(chain, directed[:n], row) < n
        if left[b]:
            continue
        for t in range(n):
            path[t] = gold_tags[b, n - 1 - t]
        _write_conditionals(chain, path[:n], row, steps[:n])
        weigh_steps(steps[:n], weights[b], is_total, values[b], upstream)
        for t in range(n):
            directed_upstream[t] = upstream[n - 1 - t]
        conditional_adjoint_row(chain, directed_upstream[:n], path[:n], row, pairs)
        for t in range(n):
            for k in range(num_tags):
                by_emissions[b, n - 1 - t, k] = row.adjoint[t, k]
            if t < n - 1:
                shared.transitions[path[t + 1], path[t]] += directed_upstream[t]
        for k in range(num_tags):
            shared.start[k] += row.adjoint[n - 1, k]
            shared.end[k] += row.adjoint[0, k]
    for i in range(num_tags):
        for k in range(num_tags):
            shared.transitions[i, k] += pairs[k, i] * chain.entering[i, k]
    return shared.flat


@kernel
def _write_conditionals(chain: Chain, path: np.ndarray, row: Row, values: np.ndarray) -> None:
    """Writes log p(y_t | y_{t+1}, prefix) of the directed `path` to `values`, from the end."""
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
    first: int, last: int, batch: Batch, from_the_end: bool, arrivals: np.ndarray
) -> None:
    """Writes the log-sums of all prefixes that arrive at each tag, without its emission.

    With `from_the_end` rows are read so, and suffixes take the place of prefixes. `arrivals`, (B, T, K),
    hold -inf.
    """
    num_tokens, num_tags = batch.emissions.shape[1:]
    chain = chain_of(batch, from_the_end)
    start_peak = peak_of(chain.start)
    row = new_row(num_tokens, num_tags)
    directed = np.empty((num_tokens, num_tags))
    for b in range(first, last):
        n = batch.lengths[b]
        if n == 0:
            continue
        _direct(batch.emissions[b, :n], from_the_end, directed)
        reached, in_log_space = solve_row(chain, directed[:n], row)
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
def _direct(emissions: np.ndarray, from_the_end: bool, directed: np.ndarray) -> None:
    """Copies a row's `emissions`, (n, K), to `directed`, in reverse if `from_the_end`."""
    n = len(emissions)
    for t in range(n):
        for k in range(emissions.shape[1]):
            directed[t, k] = emissions[n - 1 - t if from_the_end else t, k]
