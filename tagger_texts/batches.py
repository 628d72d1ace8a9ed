"""Batches of a limited padded size, from the `lengths` of their members, (N,)."""

from typing import List

import numpy as np


def batches_within(lengths: np.ndarray, max_tokens: int) -> List[np.ndarray]:
    """Returns the instances' indices for each batch: the longest first, as many as fit.

    A batch has at most `max_tokens` tokens, padding included; a longer instance is a batch by itself.

    Example:
        >>> [batch.tolist() for batch in batches_within(np.array([1, 5, 2, 4, 3]), 8)]
        [[1], [3, 4], [2, 0]]
    """
    order = longest_first(np.arange(len(lengths)), lengths)
    batches: List[np.ndarray] = []
    start = 0
    while start < len(order):
        end = start + num_fitting(lengths[order[start]], max_tokens)
        batches.append(order[start:end])
        start = end
    return batches


def num_fitting(length: int, max_tokens: int) -> int:
    """Returns how many members of a length make a full batch, at least one."""
    return max(1, max_tokens // max(1, int(length)))


def longest_first(indices: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Sorts indices by the lengths of what they stand for; equal ones keep their order."""
    return indices[np.argsort(-lengths[indices], kind="stable")]
