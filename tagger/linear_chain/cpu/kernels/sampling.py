"""Kernels that draw paths, by forward filtering and backward sampling."""

import numpy as np

from tagger.kernels.compilation import kernel
from tagger.linear_chain.cpu.kernels.messages import (
    forward_row,
    forward_row_in_log_space,
    new_chain,
    new_row,
    peak_of,
)


@kernel
def sample_rows(
    first: int,
    last: int,
    lengths: np.ndarray,
    emissions: np.ndarray,
    transitions: np.ndarray,
    start: np.ndarray,
    end: np.ndarray,
    uniforms: np.ndarray,
    paths: np.ndarray,
) -> None:
    """Writes the paths that `uniforms` stand for.

    Args:
        first: the first row.
        last: the row after the last.
        lengths: (B,) int64.
        emissions: (B, T, K).
        transitions: (K, K).
        start: (K,).
        end: (K,).
        uniforms: (B, S, T) float64, in [0, 1).
        paths: (B, S, T) int64; holds zeros.
    """
    num_tokens, num_tags = emissions.shape[1:]
    chain = new_chain(transitions, start, end)
    row = new_row(num_tokens, num_tags)
    log_weights, weights = np.empty(num_tags), np.empty(num_tags)
    for b in range(first, last):
        n = lengths[b]
        if n == 0:
            continue
        own = emissions[b, :n]
        if forward_row(chain, own, row) < 0:
            forward_row_in_log_space(chain, own, row)
        else:
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
    """The tag at which the share of the weights up to it exceeds `uniform`; `weights` is scratch."""
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
