"""Exponentials and log-sums for kernels, in loops that compilers can vectorise."""

from typing import Any, Callable, Tuple

import numpy as np
from llvmlite import ir
from numba.extending import intrinsic

from tagger.linear_chain.kernels.compilation import kernel

_LOG2_E = 1.4426950408889634
# Adding it to a float64 leaves the nearest integer in the low bits.
_ROUNDER = 6755399441055744.0
# log 2 in two parts. The first has so few bits that its product with any exponent is exact.
_LOG_2_HIGH, _LOG_2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10


@intrinsic
def _power_of_two(typing_context: Any, rounded: Any) -> Tuple[Any, Callable]:
    """Returns 2^n, n being the integer in the low bits of a number to which the rounder was added."""
    bits = ir.IntType(64)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        exponent = builder.add(builder.bitcast(args[0], bits), bits(1023))
        return builder.bitcast(builder.shl(exponent, bits(52)), args[0].type)

    return rounded(rounded), generate


def exp(x: float) -> float:
    """Returns e^x for x <= 0, to one unit in the last place.

    Compilers vectorise loops over this function, but not over `np.exp`.
    """
    rounded = x * _LOG2_E + _ROUNDER
    exponent = rounded - _ROUNDER
    rest = (x - exponent * _LOG_2_HIGH) - exponent * _LOG_2_LOW
    power = 1.0 / 479001600
    power = power * rest + 1.0 / 39916800
    power = power * rest + 1.0 / 3628800
    power = power * rest + 1.0 / 362880
    power = power * rest + 1.0 / 40320
    power = power * rest + 1.0 / 5040
    power = power * rest + 1.0 / 720
    power = power * rest + 1.0 / 120
    power = power * rest + 1.0 / 24
    power = power * rest + 1.0 / 6
    power = power * rest + 0.5
    power = power * rest + 1.0
    power = power * rest + 1.0
    result = power * _power_of_two(rounded)  # type: ignore[call-arg]
    return 0.0 if x < -708.0 else result


# The rounding must happen as written.
exp = kernel(exp, may_reorder=False)


@kernel
def log_sum(scores: np.ndarray) -> float:
    """Returns the log-sum of a vector, -inf if all of its entries are."""
    peak = scores.max()
    if peak == -np.inf:
        return peak
    total = 0.0
    for k in range(len(scores)):
        total += np.exp(scores[k] - peak)
    return peak + np.log(total)


@kernel
def normalize(scores: np.ndarray) -> float:
    """Subtracts the log-sum of a vector from it, and returns the log-sum; does nothing if all are -inf.

    The largest score is subtracted first: a large log-sum lacks the digits that make probabilities sum
    to 1.
    """
    peak = scores.max()
    if peak == -np.inf:
        return peak
    total = 0.0
    for k in range(len(scores)):
        scores[k] -= peak
        total += np.exp(scores[k])
    rest = np.log(total)
    for k in range(len(scores)):
        scores[k] -= rest
    return peak + rest
