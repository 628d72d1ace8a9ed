"""Kernels that draw paths, by forward filtering and backward sampling."""

import numpy as np

from tagger.linear_chain.cpu.kernels.batch import Batch
from tagger.linear_chain.cpu.kernels.messages import new_row, peak_of, shared_scores_of, solve_row
from tagger.linear_chain.kernels.compilation import kernel


@kernel
def sample_rows(
    first: int, last: int, batch: Batch, uniforms: np.ndarray, paths: np.ndarray
) -> None:
    """Writes paths, (B, S, T) int64, drawn by `uniforms`, (B, S, T) float64, in [0, 1)."""
    num_tokens, num_tags = batch.emissions.shape[1:]
    chain = shared_scores_of(batch, False)
    row = new_row(num_tokens, num_tags)
    log_weights, weights = np.empty(num_tags), np.empty(num_tags)
    for b in range(first, last):
        n = batch.lengths[b]
        if n == 0:
            continue
        _, in_log_space = solve_row(chain, batch.emissions[b, :n], row)
        if not in_log_space:
            for t in range(n):
                for k in range(num_tags):
                    row.messages[t, k] = np.log(row.messages[t, k])
        for sample in range(paths.shape[1]):
            tag = 0
            for t in range(n - 1, -1, -1):
                for k in range(num_tags):
                    leaving = chain.end[k] if t == n - 1 else chain.transitions[k, tag]
                    log_weights[k] = row.messages[t, k] + leaving
                tag = _draw(log_weights, uniforms[b, sample, t], weights)
                paths[b, sample, t] = tag


@kernel
def _draw(log_weights: np.ndarray, uniform: float, weights: np.ndarray) -> int:
    """The first tag at which the cumulative share of the weights, (K,), exceeds `uniform`, in [0, 1)."""
    peak = peak_of(log_weights)
    total = 0.0
    for k in range(len(log_weights)):
        weights[k] = np.exp(log_weights[k] - peak)
        total += weights[k]
    drawn = 0
    cumulated = 0.0
    for k in range(len(weights)):
        cumulated += weights[k]
        if weights[k] > 0.0:
            drawn = k
            if cumulated > uniform * total:
                break
    return drawn
