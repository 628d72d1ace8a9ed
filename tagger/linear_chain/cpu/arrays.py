"""Tensors as the arrays that kernels take."""

from typing import List, Optional, Sequence, Tuple

import numpy as np
import torch


def array(tensor: torch.Tensor) -> np.ndarray:
    """The tensor's memory or, if its layout is another than C's, a copy."""
    return tensor.detach().contiguous().numpy()


def arrays(scores: Tuple[torch.Tensor, ...]) -> List[np.ndarray]:
    """One array for each tensor."""
    return [array(tensor) for tensor in scores]


def tag_array(tags: Optional[torch.Tensor], batch_size: int) -> np.ndarray:
    """The path, (B, T), or where there is none, (B, 0)."""
    return np.zeros((batch_size, 0), np.int64) if tags is None else array(tags)


def ones(chain: List[np.ndarray]) -> np.ndarray:
    """A weight of 1 for each row, (B, 1)."""
    return np.ones((len(chain[0]), 1), chain[0].dtype)


def gradients_by_scores(
    by_emissions: np.ndarray, by_others: Sequence[Sequence[np.ndarray]]
) -> List[np.ndarray]:
    """The gradients by the four scores, those by the last three summed over ranges of rows."""
    others = [np.sum(parts, axis=0, dtype=np.float64) for parts in zip(*by_others)]
    return [by_emissions, *(other.astype(by_emissions.dtype) for other in others)]
