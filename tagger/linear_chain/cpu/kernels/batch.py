"""The arguments of the kernels, a batch of chains, and their results, gradients of shared scores.

A kernel `..._rows` computes rows `first` to `last`, exclusive, of a `Batch`, and writes into arrays of
zeros. Kernels with derivatives differentiate the weighted sum of a value for each token, return the
`flat` array of `SharedGradients`, and take

- `path`, the gold tags, (B, T) int64, or `sets` of them, (B, T, K) bool; a function of the scores alone
  gets neither;
- `weights`, (B, T, 1), or (B, 1, 1) if all tokens of a row weigh the same;
- `is_total`: whether `values` gets the weighted sum of each row, (B, 1), instead of the value of each
  token, (B, T);
- `by_emissions`, (B, T, K), for the gradients with respect to the emissions, if they are wanted, in the
  type of these.

What is not given is an empty array of the same type and dimensions, because a kernel is compiled for
each combination of types, which takes seconds.

Letters: `B` rows (sequences), `T` tokens, `K` tags, as in the whole package.
"""

from typing import NamedTuple

import numpy as np

from tagger.linear_chain.kernels.compilation import kernel


class Batch(NamedTuple):
    """A batch of chains as C-contiguous arrays."""

    # (B,) int64, the number of real tokens of each row
    lengths: np.ndarray
    # (B, T, K), float32 or float64
    emissions: np.ndarray
    # (K, K), (K,), (K,), float64
    transitions: np.ndarray
    start: np.ndarray
    end: np.ndarray


class SharedGradients(NamedTuple):
    """Float64 gradients of the scores that all rows share; the last three are views of `flat`."""

    # (K * K + 2 * K,)
    flat: np.ndarray
    # (K, K), (K,), (K,)
    transitions: np.ndarray
    start: np.ndarray
    end: np.ndarray


@kernel
def new_shared_gradients(num_tags: int) -> SharedGradients:
    """Returns gradients of zero."""
    num_pairs = num_tags * num_tags
    flat = np.zeros(num_pairs + 2 * num_tags)
    return SharedGradients(
        flat,
        flat[:num_pairs].reshape(num_tags, num_tags),
        flat[num_pairs : num_pairs + num_tags],
        flat[num_pairs + num_tags :],
    )


@kernel
def weigh_steps(
    steps: np.ndarray, weights: np.ndarray, is_total: bool, values: np.ndarray, upstream: np.ndarray
) -> None:
    """Writes a row's `steps`, (n,), or their weighted sum, to `values`, and their weights to `upstream`.

    A step of -inf has weight 0 and makes the sum -inf.
    """
    for t in range(len(steps)):
        upstream[t] = 0.0 if steps[t] == -np.inf else weights[t if len(weights) > 1 else 0, 0]
        if not is_total:
            values[t] = steps[t]
    if is_total:
        total, is_possible = 0.0, True
        for t in range(len(steps)):
            is_possible &= steps[t] != -np.inf
            total += upstream[t] * steps[t]
        values[0] = total if is_possible else -np.inf
        if not is_possible:
            upstream[: len(steps)].fill(0.0)
