"""Weights of instances: how much each counts in the loss."""

import math
from typing import Any, Sequence, Tuple

import torch
from allennlp.data.fields import TensorField

#: The name of the field, an argument of models.
WEIGHTS = "weights"


def weights_field(weights: Sequence[float]) -> TensorField:
    """Returns a field with the weight of each sentence of an instance, (N,)."""
    return TensorField(torch.tensor(weights, dtype=torch.float32))


def parsed_weight(value: Any, place: str) -> float:
    """Returns a weight; a missing one is 1.

    Raises:
        ValueError: Unless it is a finite number of at least 0.

    Example:
        >>> parsed_weight("2.5", "a.csv:3"), parsed_weight(None, "a.csv:4")
        (2.5, 1.0)
    """
    try:
        weight = 1.0 if value in (None, "") else float(value)
    except (TypeError, ValueError):
        weight = math.nan
    if isinstance(value, bool) or not 0 <= weight < math.inf:
        raise ValueError(f"{place}: expected a weight, a number of at least 0; got {value!r}")
    return weight


def common_weight(values: Sequence[Tuple[Any, str]]) -> float:
    """Returns the weight that all rows of an instance have; values come with their places.

    Raises:
        ValueError: If rows differ, or as `parsed_weight` does.
    """
    first = parsed_weight(*values[0])
    for value, place in values:
        if value != values[0][0]:
            raise ValueError(
                f"{place}: expected the weight of the rows before, {first:g}; got {value!r}"
            )
    return first
