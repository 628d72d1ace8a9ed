"""Checks of the numbers that losses are set by."""

import math

from allennlp.common.checks import ConfigurationError


def check_setting(name: str, value: float, is_right: bool, expected: str) -> None:
    """Raises a `ConfigurationError` unless a number is finite and as expected."""
    if not (math.isfinite(value) and is_right):
        raise ConfigurationError(f"`{name}` must be {expected}; got {value!r}")


def check_negative_tolerance(kappa: float, negative_scale: float) -> None:
    """Checks the arguments of `prior_bias` and `negative_tolerant_terms`."""
    check_setting("kappa", kappa, kappa >= 0, "at least 0, 0 for no bias")
    check_setting(
        "negative_scale", negative_scale, negative_scale > 0, "above 0, 1 to treat all alike"
    )


def check_class_balancing(beta: float) -> None:
    """Checks the argument of `class_balanced_weights`."""
    check_setting("beta", beta, 0 <= beta < 1, "at least 0, for equal weights, and below 1")


def check_rebalancing(alpha: float, beta: float, mu: float) -> None:
    """Checks the arguments of `rebalancing_weights`."""
    check_setting("alpha", alpha, alpha >= 0, "at least 0")
    check_setting("beta", beta, beta >= 0, "at least 0, for equal weights")
    check_setting("mu", mu, True, "a finite number")
