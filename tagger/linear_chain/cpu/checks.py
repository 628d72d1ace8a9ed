"""Kernels that check arguments in one pass."""

from typing import Tuple

import numpy as np

from tagger.linear_chain.cpu.compilation import kernel


@kernel
def count_tokens(mask: np.ndarray, lengths: np.ndarray) -> int:
    """Writes how many tokens of each row are real.

    Args:
        mask: (B, T) bool.
        lengths: (B,) int64.

    Returns:
        The first row that has a real token after a masked one, or -1.
    """
    holed = -1
    for b in range(len(lengths)):
        count = 0
        for t in range(mask.shape[1]):
            count += mask[b, t]
        lengths[b] = count
        for t in range(count):
            if not mask[b, t] and holed < 0:
                holed = b
    return holed


@kernel
def find_wrong_tag(tags: np.ndarray, lengths: np.ndarray, num_tags: int) -> Tuple[int, int]:
    """The row and token of the first real token whose tag is not in [0, K), or (-1, -1).

    Args:
        tags: (B, T) int64.
        lengths: (B,) int64.
        num_tags: K.
    """
    for b in range(len(lengths)):
        for t in range(lengths[b]):
            if not 0 <= tags[b, t] < num_tags:
                return b, t
    return -1, -1
