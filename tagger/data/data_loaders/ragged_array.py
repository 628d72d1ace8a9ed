"""Arrays of different sizes, stored end to end."""

import itertools
from typing import Any, List, Sequence, Tuple, Union

import numpy as np
import torch


class RaggedArray:
    """Arrays of different sizes but the same number of dimensions, stored end to end in one array.

    Integers are stored in the smallest type that can hold them all. `shapes` are (N, number of
    dimensions) int32, and `padding` fills smaller arrays up to the size of larger ones.

    Example:
        >>> lines = RaggedArray.of([np.array([1, 2, 3]), np.array([4]), np.array([5, 6])], padding=-1)
        >>> lines.padded(np.array([1, 2]))
        tensor([[ 4, -1],
                [ 5,  6]])
    """

    def __init__(
        self, values: np.ndarray, shapes: np.ndarray, padding: Union[bool, int, float]
    ) -> None:
        self._padding = padding
        self.shapes = shapes
        self._ends = np.cumsum(shapes.prod(axis=1))
        self._dtype = values.dtype
        self._values = _narrowed(values)

    @classmethod
    def of(cls, arrays: Sequence[np.ndarray], padding: Union[bool, int, float]) -> "RaggedArray":
        """Stores one or more arrays."""
        values = np.concatenate([array.ravel() for array in arrays])
        return cls(values, np.array([array.shape for array in arrays], dtype=np.int32), padding)

    @classmethod
    def of_indices(cls, nested: Sequence[List[Any]], shapes: np.ndarray) -> "RaggedArray":
        """Stores lists of indices, or of lists of indices, as int64 arrays padded with zeros.

        `shapes` are those of the arrays, (N, 1 or 2) int32, at least as large as the lists.

        Example:
            >>> characters = [[[5, 6], [7]], [[8]]]
            >>> shapes = np.array([[2, 2], [1, 3]], dtype=np.int32)
            >>> RaggedArray.of_indices(characters, shapes).padded(np.array([0]))
            tensor([[[5, 6],
                     [7, 0]]])
        """
        lengths, widths = np.array([len(each) for each in nested]), shapes[:, 1:].prod(axis=1)
        ends = shapes.prod(axis=1).cumsum()
        starts = np.append(0, ends[:-1])
        # The start of each element of the lists.
        places = np.repeat(starts, lengths) + _counted(lengths) * np.repeat(widths, lengths)
        elements = list(itertools.chain.from_iterable(nested))
        if shapes.shape[1] == 2:
            lengths = np.array([len(each) for each in elements], dtype=np.int64)
            places = np.repeat(places, lengths) + _counted(lengths)
            elements = list(itertools.chain.from_iterable(elements))
        values = np.zeros(ends[-1], dtype=np.int64)
        values[places] = elements
        return cls(values, shapes, padding=0)

    def padded(self, indices: np.ndarray) -> torch.Tensor:
        """Returns the arrays with these indices, padded to the largest, as one tensor (B, ...)."""
        # (B, number of dimensions)
        shapes = self.shapes[indices]
        padded = np.full((len(shapes), *shapes.max(axis=0)), self._padding, self._dtype)
        # (B,)
        sizes = shapes.prod(axis=1)
        starts = self._ends[indices] - sizes
        # Where each value is stored.
        places = np.repeat(starts, sizes) + _counted(sizes)
        padded[_is_inside(shapes, padded.shape)] = self._values[places]
        return torch.from_numpy(padded)


def _counted(sizes: np.ndarray) -> np.ndarray:
    """Returns 0, 1, ..., size - 1 for each size, one series after the other."""
    starts = sizes.cumsum() - sizes
    return np.arange(sizes.sum()) - np.repeat(starts, sizes)


def _is_inside(shapes: np.ndarray, padded_shape: Tuple[int, ...]) -> np.ndarray:
    """Returns a mask of the elements of padded arrays that are not padding, (B, ...) bool."""
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
    # No integer type holds both int64 and uint64.
    return values.astype(narrow) if narrow.kind in "iu" else values
