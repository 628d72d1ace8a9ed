"""What the kernels take, a batch of chains, and what they return, gradients that all rows share.

Letters: `B` rows (sequences), `T` tokens, `K` tags, as in the whole package.
"""

from typing import NamedTuple

import numpy as np

from tagger.kernels.compilation import kernel


class Batch(NamedTuple):
    """A batch of chains as C-contiguous arrays; the scores are float32 or float64."""

    # (B,) int64, the number of real tokens of each row
    lengths: np.ndarray
    # (B, T, K), (K, K), (K,), (K,)
    emissions: np.ndarray
    transitions: np.ndarray
    start: np.ndarray
    end: np.ndarray


class SharedGradients(NamedTuple):
    """Float64 gradients by the scores that all rows share; the last three are views of `flat`."""

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
