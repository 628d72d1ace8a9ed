"""Arrays of different sizes, stored end to end."""

from typing import Sequence, Tuple, Union

import numpy as np
import torch


class RaggedArray:
    """Arrays of as many dimensions, but of any sizes, end to end in one array.

    Integers are stored in the smallest type that holds all of them.

    Args:
        arrays: what to store; at least one.
        padding: what to fill smaller arrays up with where a larger one is beside them.

    Example:
        >>> lines = RaggedArray([np.array([1, 2, 3]), np.array([4]), np.array([5, 6])], padding=-1)
        >>> lines.padded(np.array([1, 2]))
        tensor([[ 4, -1],
                [ 5,  6]])
    """

    def __init__(self, arrays: Sequence[np.ndarray], padding: Union[bool, int, float]) -> None:
        self._padding = padding
        # (N, number of dimensions)
        self.shapes = np.array([array.shape for array in arrays], dtype=np.int32)
        self._ends = np.cumsum([array.size for array in arrays])
        values = np.concatenate([array.ravel() for array in arrays])
        self._dtype = values.dtype
        self._values = _narrowed(values)

    @property
    def nbytes(self) -> int:
        """The memory that the arrays take."""
        return self._values.nbytes + self._ends.nbytes + self.shapes.nbytes

    def padded(self, indices: np.ndarray) -> torch.Tensor:
        """Returns the arrays of these indices, padded to the largest, as one tensor (B, ...)."""
        # (B, number of dimensions)
        shapes = self.shapes[indices]
        padded = np.full((len(shapes), *shapes.max(axis=0)), self._padding, self._dtype)
        # (B,)
        sizes = shapes.prod(axis=1)
        starts_here = sizes.cumsum() - sizes
        starts = self._ends[indices] - sizes
        # Of each value, where it is stored.
        places = np.arange(sizes.sum()) + np.repeat(starts - starts_here, sizes)
        padded[_is_inside(shapes, padded.shape)] = self._values[places]
        return torch.from_numpy(padded)


def _is_inside(shapes: np.ndarray, padded_shape: Tuple[int, ...]) -> np.ndarray:
    """Returns which elements of arrays that are padded to one shape, (B, ...), belong to the arrays."""
    is_inside = np.ones(padded_shape, dtype=bool)
    num_others = len(padded_shape) - 1
    for axis, sizes in enumerate(shapes.T, start=1):
        # (1, ..., size, ..., 1) beside (B, 1, ..., 1)
        positions = np.arange(padded_shape[axis]).reshape(-1, *[1] * (num_others - axis))
        is_inside &= positions < sizes.reshape(-1, *[1] * num_others)
    return is_inside


def _narrowed(values: np.ndarray) -> np.ndarray:
    if values.size == 0 or values.dtype.kind != "i":
        return values
    narrow = np.result_type(np.min_scalar_type(values.min()), np.min_scalar_type(values.max()))
    return values.astype(narrow)
