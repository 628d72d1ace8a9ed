"""The check of a number in a config."""

import math

from tagger.common.from_allennlp import ConfigurationError


def check_number(name: str, value: float, is_valid: bool, expected: str) -> None:
    """Raises a `ConfigurationError` unless a number is finite and valid.

    Args:
        name: The argument's name.
        value: The number.
        is_valid: Whether the number lies in its range.
        expected: That range, to complete "`name` must be ...".

    Example:
        >>> check_number("tau", -1.0, -1.0 >= 0, "at least 0")
        Traceback (most recent call last):
        allennlp.common.checks.ConfigurationError: `tau` must be at least 0; got -1.0
    """
    if not (math.isfinite(value) and is_valid):
        raise ConfigurationError(f"`{name}` must be {expected}; got {value!r}")
