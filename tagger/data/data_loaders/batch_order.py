"""Chooses each batch's instances by their `lengths`, (N,), and orders the batches."""

from typing import Iterator, List, Sequence

import numpy as np

from tagger_texts.batches import batches_within, longest_first, num_fitting

# Larger windows would hardly reduce padding further, and would make batches vary less.
_BATCHES_PER_WINDOW = 50
# With a single sorted window, batches would hardly vary between epochs.
_MIN_WINDOWS = 4
# A token-limited batch mixes instances that are at least this share of its longest one's length, or of
# any length if they fill at most this many batches.
_LEAST_SHARE_OF_LONGEST, _LEAST_BATCHES = 0.9, 4


def shuffled_batches(
    lengths: np.ndarray, num_batches: int, generator: np.random.Generator, sort: bool = True
) -> List[np.ndarray]:
    """Returns the instances' indices for each of `num_batches` batches, in random order.

    The instances are shuffled and divided into windows of many batches. Each window is sorted by length
    if `sort`, and cut into batches with sizes that differ by at most one; then the batches are shuffled.
    If generators start in the same state, and have equally many batches of similar data, batches of
    similar lengths come at the same time.
    """
    # Draw this first, so that it does not depend on the number of instances.
    order_of_batches = generator.permutation(num_batches)
    order = generator.permutation(len(lengths))
    if sort:
        num_windows = max(_MIN_WINDOWS, -(-num_batches // _BATCHES_PER_WINDOW))
        window_ends = _bounds(len(lengths), num_batches)[_bounds(num_batches, num_windows)]
        windows = np.split(order, window_ends[1:-1])
        order = np.concatenate([longest_first(window, lengths) for window in windows])
    batches = _cut(order, num_batches)
    return [batches[i] for i in order_of_batches]


def ordered_batches(lengths: np.ndarray, num_batches: int, sort: bool = True) -> List[np.ndarray]:
    """Like `shuffled_batches`, but with the longest first; without `sort`, in the given order.

    Example:
        >>> [batch.tolist() for batch in ordered_batches(np.array([1, 5, 2, 4, 3]), 2)]
        [[1, 3], [4, 2, 0]]
    """
    order = np.arange(len(lengths))
    return _cut(longest_first(order, lengths) if sort else order, num_batches)


def batches_of_equal(lengths: np.ndarray, max_tokens: int) -> List[np.ndarray]:
    """Like `batches_within`, but each batch has instances of a single length.

    Example:
        >>> [batch.tolist() for batch in batches_of_equal(np.array([2, 5, 2, 2, 5]), 10)]
        [[1, 4], [0, 2, 3]]
    """
    order = longest_first(np.arange(len(lengths)), lengths)
    borders = np.flatnonzero(np.diff(lengths[order])) + 1
    return [
        group[batch]
        for group in np.split(order, borders)
        for batch in batches_within(lengths[group], max_tokens)
    ]


def shuffled_batches_within(
    lengths: np.ndarray, max_tokens: int, generator: np.random.Generator
) -> List[np.ndarray]:
    """Like `batches_within`, but in random order.

    Instances are sorted by length and cut into ranges. The longest instance of a range determines its
    number of batches, so every epoch has the same number, however instances are combined.
    """
    batches: List[np.ndarray] = []
    for instances in _ranges(lengths, max_tokens):
        num_batches = -(-len(instances) // num_fitting(lengths[instances[0]], max_tokens))
        batches += _cut(generator.permutation(instances), num_batches)
    return [batches[i] for i in generator.permutation(len(batches))]


def in_chunks(sizes: Sequence[int], max_size: int) -> Iterator[List[int]]:
    """Yields runs of indices with sizes that sum to at most `max_size`; a larger one is alone.

    Example:
        >>> list(in_chunks([3, 3, 9, 1], max_size=6))
        [[0, 1], [2], [3]]
    """
    chunk: List[int] = []
    total = 0
    for index, size in enumerate(sizes):
        if chunk and total + size > max_size:
            yield chunk
            chunk, total = [], 0
        chunk.append(index)
        total += size
    if chunk:
        yield chunk


def _ranges(lengths: np.ndarray, max_tokens: int) -> Iterator[np.ndarray]:
    """Yields the indices of instances with similar lengths, the longest first."""
    order = longest_first(np.arange(len(lengths)), lengths)
    start = 0
    while start < len(order):
        longest = lengths[order[start]]
        end = int(np.searchsorted(-lengths[order], -longest * _LEAST_SHARE_OF_LONGEST, "right"))
        end = max(end, start + _LEAST_BATCHES * num_fitting(longest, max_tokens))
        yield order[start:end]
        start = end


def _cut(order: np.ndarray, num_batches: int) -> List[np.ndarray]:
    return np.split(order, _bounds(len(order), num_batches)[1:-1])


def _bounds(total: int, num_parts: int) -> np.ndarray:
    """Returns the start of each part of a whole, and the end of the last."""
    return np.arange(num_parts + 1) * total // num_parts
