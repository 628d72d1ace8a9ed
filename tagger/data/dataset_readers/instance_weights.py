"""Weights of instances: how much each counts in the loss."""

import logging
import math
from typing import Any, Mapping, Optional, Sequence, Tuple, Union

import torch
from allennlp.data.fields import TensorField

logger = logging.getLogger(__name__)

#: So that sums and products of weights stay finite in single precision.
_MOST = 1e12


def weights_field(weights: Sequence[float]) -> TensorField:
    """Returns a field with the weight of each sentence of an instance, (N,)."""
    return TensorField(torch.tensor(weights, dtype=torch.float32))


def parsed_weight(value: Any, place: str) -> float:
    """Returns a weight; a missing one is 1.

    Raises:
        ValueError: Unless it is a number from 0 to `_MOST`.

    Example:
        >>> parsed_weight("2.5", "a.csv:3"), parsed_weight(None, "a.csv:4")
        (2.5, 1.0)
    """
    try:
        weight = 1.0 if value in (None, "") else float(value)
    except (TypeError, ValueError):
        weight = math.nan
    if isinstance(value, bool) or not 0 <= weight <= _MOST:
        raise ValueError(
            f"{place}: expected a weight, a number from 0 to {_MOST:g}; got {value!r}; set `weight` to "
            "null if there are none"
        )
    return weight


class WeightsOfTexts:
    """Looks up the weights of a file's texts under a key; without a key, all are 1."""

    def __init__(self, key: Union[str, int, None]) -> None:
        self._key: Optional[str] = None if key is None else str(key)
        self._num_texts = self._num_given = 0

    def of(self, text: Mapping[str, Any], place: str) -> float:
        """Returns the weight of a text, given its properties; see `parsed_weight`."""
        if self._key is None:
            return 1.0
        self._num_texts += 1
        self._num_given += self._key in text
        return parsed_weight(text.get(self._key), place)

    def warn(self, path: Any) -> None:
        """Warns if there are texts, but none of them had the key."""
        if self._num_texts and not self._num_given:
            logger.warning("%s: no text has the key `%s`, so all weigh 1", path, self._key)


def common_weight(values: Sequence[Tuple[Any, str]]) -> float:
    """Returns the weight that all rows of an instance have; values come with their places.

    Raises:
        ValueError: If rows differ, or as `parsed_weight` does.
    """
    first = parsed_weight(*values[0])
    for value, place in values:
        if value != values[0][0] and parsed_weight(value, place) != first:
            raise ValueError(
                f"{place}: expected the weight of the rows before, {first:g}; got {value!r}"
            )
    return first
