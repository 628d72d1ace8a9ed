"""Recordings: sequences of numbers, which are cut into overlapping windows if they are long."""

import itertools
from typing import Any, Dict, List, NamedTuple, Sequence

import numpy as np

from tagger_texts.inputs import InputError


class StepWindow(NamedTuple):
    """The steps of a recording that are read together; those from `own_first` on get their tags there.

    Ends are exclusive.
    """

    first: int
    end: int
    own_first: int
    own_end: int

    @property
    def own(self) -> slice:
        """The window's own steps, counted from its first step."""
        return slice(self.own_first - self.first, self.own_end - self.first)


class Steps(NamedTuple):
    """A window in place of the `Text` of a sentence: its numbers, (T, D), and its own steps."""

    words: np.ndarray
    own: slice


def windows(num_steps: int, size: int, overlap: int) -> List[StepWindow]:
    """Cuts a recording into windows of `size` steps, of which neighbours share at least `overlap`.

    A step belongs to the window in which it is farther from a border.

    Example:
        >>> [(each.first, each.end, each.own_first, each.own_end) for each in windows(10, 6, 2)]
        [(0, 6, 0, 5), (4, 10, 5, 10)]
    """
    last = max(0, num_steps - size)
    num_windows = min(num_steps, 1) + -(-last // (size - overlap))
    starts = [number * last // max(1, num_windows - 1) for number in range(num_windows)]
    borders = [(before + size + start) // 2 for before, start in itertools.pairwise(starts)]
    owns = zip([0, *borders], [*borders, num_steps])
    return [StepWindow(at, min(at + size, num_steps), *own) for at, own in zip(starts, owns)]


def check_numbers(value: Any, size: int, name: str = "numbers") -> np.ndarray:
    """Returns a recording as (T, D) float32, NaN where a number is missing; D is `size`.

    Example:
        >>> check_numbers([[1, 2.5], [None, 0]], 2).tolist()
        [[1.0, 2.5], [nan, 0.0]]
    """
    try:
        numbers = np.asarray(value, dtype=np.float32)
    except (TypeError, ValueError):
        numbers = np.zeros((), dtype=np.float32)
    if numbers.shape == (0,):
        numbers = numbers.reshape(0, size)
    if numbers.ndim != 2 or numbers.shape[1] != size or np.isinf(numbers).any():
        raise InputError(
            f"`{name}` must be a recording: for each step, a list of {size} finite numbers, or null "
            f"where one is missing; got {value!r:.200}"
        )
    return numbers


def padded_numbers(recordings: Sequence[np.ndarray]) -> Dict[str, np.ndarray]:
    """Returns recordings, (T, D) each, as a graph takes them: padded `numbers`, and `lengths`."""
    lengths = np.array([len(each) for each in recordings], dtype=np.int64)
    numbers = np.zeros((len(recordings), lengths.max(), recordings[0].shape[1]), dtype=np.float32)
    for row, each in zip(numbers, recordings):
        row[: len(each)] = each
    return {"numbers": numbers, "lengths": lengths}
