"""Checks numbers and names in configs."""

import math
import sys
from typing import Any, Sequence

from tagger.common.did_you_mean import did_you_mean
from tagger.common.from_allennlp import ConfigurationError

#: The most features of a layer; more is surely a typo, and would exhaust memory.
MOST_FEATURES = 65_536


def check_number(name: str, value: float, is_valid: bool, expected: str) -> None:
    """Raises a `ConfigurationError` unless a number is finite and valid."""
    if not (is_number(value) and is_valid):
        raise ConfigurationError(f"`{name}` must be {expected}; got {value!r}")


def is_number(value: Any, least: float = -math.inf, most: float = math.inf) -> bool:
    """Whether a value from JSON is a finite number in a range."""
    # An integer may be larger than any float.
    largest = sys.float_info.max
    return isinstance(value, (int, float)) and max(least, -largest) <= value <= min(most, largest)


def check_whole(name: str, value: Any, least: int = 1) -> None:
    """Raises a `ConfigurationError` unless a value is an integer of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ConfigurationError(
            f"`{name}` must be a whole number of at least {least}; got {value!r}"
        )


def check_is_one_of(name: str, value: Any, known: Sequence[str]) -> None:
    """Raises a `ConfigurationError` unless an argument's value is one of the known names."""
    if value not in known:
        hint = did_you_mean(value, known) if isinstance(value, str) else ""
        raise ConfigurationError(f"`{name}` must be one of {', '.join(known)}; got {value!r}{hint}")


def check_sizes(**sizes: int) -> None:
    """Raises a `ConfigurationError` unless each size is at least 1 and at most `MOST_FEATURES`."""
    for name, size in sizes.items():
        check_number(name, size, size >= 1, "at least 1")
        check_number(name, size, size <= MOST_FEATURES, f"at most {MOST_FEATURES}")


def check_dropouts(**dropouts: float) -> None:
    """Raises a `ConfigurationError` unless each dropout probability is in [0, 1)."""
    for name, dropout in dropouts.items():
        check_number(name, dropout, 0 <= dropout < 1, "at least 0 and below 1")


def check_shares(**shares: float) -> None:
    """Raises a `ConfigurationError` unless each share is above 0 and at most 1."""
    for name, share in shares.items():
        check_number(name, share, 0 < share <= 1, "above 0 and at most 1")
