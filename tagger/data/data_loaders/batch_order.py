"""Chooses the instances of each batch, by their `lengths`, (N,), and the order of the batches."""

from typing import Iterator, List, Sequence

import numpy as np

# Sorting windows of more batches saves little more padding, and gives batches that vary less.
_BATCHES_PER_WINDOW = 50
# If all instances were sorted in one window, few batches would hardly vary.
_MIN_WINDOWS = 4
# Batches within a number of tokens mix instances of at least this share of the longest one's length,
# and of any length if they make no more than so many batches.
_LEAST_SHARE_OF_LONGEST, _LEAST_BATCHES = 0.9, 4


def shuffled_batches(
    lengths: np.ndarray, num_batches: int, generator: np.random.Generator, sort: bool = True
) -> List[np.ndarray]:
    """Returns the indices of the instances of each of `num_batches` batches, in random order.

    The instances are shuffled, dealt to windows of many batches, sorted by length in each if `sort`, and
    cut into batches, whose sizes differ by one at most; then the batches are shuffled. Generators in the
    same state put batches of similar lengths at the same places, if they have equally many batches of
    similar data.
    """
    # Drawn first, so that it does not depend on the number of instances.
    order_of_batches = generator.permutation(num_batches)
    order = generator.permutation(len(lengths))
    if sort:
        num_windows = max(_MIN_WINDOWS, -(-num_batches // _BATCHES_PER_WINDOW))
        window_ends = _bounds(len(lengths), num_batches)[_bounds(num_batches, num_windows)]
        windows = np.split(order, window_ends[1:-1])
        order = np.concatenate([_longest_first(window, lengths) for window in windows])
    batches = _cut(order, num_batches)
    return [batches[i] for i in order_of_batches]


def ordered_batches(lengths: np.ndarray, num_batches: int, sort: bool = True) -> List[np.ndarray]:
    """As `shuffled_batches`, the longest instances first; without `sort` they keep their order.

    Example:
        >>> [batch.tolist() for batch in ordered_batches(np.array([1, 5, 2, 4, 3]), 2)]
        [[1, 3], [4, 2, 0]]
    """
    order = np.arange(len(lengths))
    return _cut(_longest_first(order, lengths) if sort else order, num_batches)


def batches_within(lengths: np.ndarray, max_tokens: int) -> List[np.ndarray]:
    """Returns the indices of the instances of each batch: the longest first, as many as fit.

    A batch has at most `max_tokens` tokens, padding included; a longer instance is a batch by itself.

    Example:
        >>> [batch.tolist() for batch in batches_within(np.array([1, 5, 2, 4, 3]), 8)]
        [[1], [3, 4], [2, 0]]
    """
    order = _longest_first(np.arange(len(lengths)), lengths)
    batches: List[np.ndarray] = []
    start = 0
    while start < len(order):
        end = start + _num_fitting(lengths[order[start]], max_tokens)
        batches.append(order[start:end])
        start = end
    return batches


def batches_of_equal(lengths: np.ndarray, max_tokens: int) -> List[np.ndarray]:
    """As `batches_within`, but only instances of equal length make a batch.

    Example:
        >>> [batch.tolist() for batch in batches_of_equal(np.array([2, 5, 2, 2, 5]), 10)]
        [[1, 4], [0, 2, 3]]
    """
    order = _longest_first(np.arange(len(lengths)), lengths)
    borders = np.flatnonzero(np.diff(lengths[order])) + 1
    return [
        group[batch]
        for group in np.split(order, borders)
        for batch in batches_within(lengths[group], max_tokens)
    ]


def shuffled_batches_within(
    lengths: np.ndarray, max_tokens: int, generator: np.random.Generator
) -> List[np.ndarray]:
    """As `batches_within`, in random order.

    Instances are sorted by length and cut into ranges. Each range makes as many batches as its longest
    instance asks for, so that their number is the same in each epoch whatever goes together.
    """
    batches: List[np.ndarray] = []
    for instances in _ranges(lengths, max_tokens):
        num_batches = -(-len(instances) // _num_fitting(lengths[instances[0]], max_tokens))
        batches += _cut(generator.permutation(instances), num_batches)
    return [batches[i] for i in generator.permutation(len(batches))]


def in_chunks(sizes: Sequence[int], max_size: int) -> Iterator[List[int]]:
    """Yields runs of indices whose sizes sum to at most `max_size`, or single ones.

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
    """Yields the indices of instances of similar lengths, the longest first."""
    order = _longest_first(np.arange(len(lengths)), lengths)
    start = 0
    while start < len(order):
        longest = lengths[order[start]]
        end = int(np.searchsorted(-lengths[order], -longest * _LEAST_SHARE_OF_LONGEST, "right"))
        end = max(end, start + _LEAST_BATCHES * _num_fitting(longest, max_tokens))
        yield order[start:end]
        start = end


def _num_fitting(length: int, max_tokens: int) -> int:
    return max(1, max_tokens // max(1, int(length)))


def _longest_first(indices: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    return indices[np.argsort(-lengths[indices], kind="stable")]


def _cut(order: np.ndarray, num_batches: int) -> List[np.ndarray]:
    return np.split(order, _bounds(len(order), num_batches)[1:-1])


def _bounds(total: int, num_parts: int) -> np.ndarray:
    """Returns where each part of a whole begins, and where the last one ends."""
    return np.arange(num_parts + 1) * total // num_parts
