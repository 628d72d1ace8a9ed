"""Kernels that look arguments over: faster than NumPy, whose every operation takes a microsecond.

Letters: `B` rows (sequences), `T` tokens.
"""

import numpy as np

from tagger.linear_chain.kernels.compilation import kernel


@kernel
def count_real_tokens(mask: np.ndarray, lengths: np.ndarray) -> bool:
    """Writes the number of real tokens of each row; returns whether all rows are right-padded.

    Args:
        mask: (B, T) bool.
        lengths: (B,) int64.
    """
    num_rises = 0
    for b in range(len(mask)):
        length = 0
        before = True
        for t in range(mask.shape[1]):
            is_real = mask[b, t]
            length += is_real
            num_rises += is_real and not before
            before = is_real
        lengths[b] = length
    return num_rises == 0


@kernel
def lie_below(numbers: np.ndarray, limit: int) -> bool:
    """Whether all of these numbers, (B, T) int64, lie in 0 to `limit` - 1."""
    num_outside = 0
    for b in range(len(numbers)):
        for t in range(numbers.shape[1]):
            num_outside += numbers[b, t] < 0 or numbers[b, t] >= limit
    return num_outside == 0


@kernel
def count_unknown(gold_tags: np.ndarray, lengths: np.ndarray, allowed: np.ndarray) -> int:
    """Writes the tags that each real token may have; returns how many gold tags are unknown.

    Args:
        gold_tags: (B, T) int64, -1 where unknown.
        lengths: (B,) int64.
        allowed: (B, T, K) bool; holds false.

    Returns:
        -1 if the gold tag of a real token is out of range.
    """
    num_tags = allowed.shape[2]
    num_unknown = 0
    for b in range(len(gold_tags)):
        for t in range(lengths[b]):
            tag = gold_tags[b, t]
            if tag >= num_tags or tag < -1:
                return -1
            if tag >= 0:
                allowed[b, t, tag] = True
                continue
            num_unknown += 1
            for k in range(num_tags):
                allowed[b, t, k] = True
    return num_unknown
