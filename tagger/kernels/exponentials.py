"""Exponentials and log-sums that loops in kernels can be vectorised over."""

from typing import Any, Callable, Tuple

import numpy as np
from llvmlite import ir
from numba.extending import intrinsic

from tagger.kernels.compilation import kernel

_LOG2_E = 1.4426950408889634
# Adding it to a float64 leaves the nearest integer in the low bits; the second does so to a float32.
_ROUNDER, _SINGLE_ROUNDER = 6755399441055744.0, np.float32(12582912.0)
# log 2 in two parts, the first of few enough bits to be multiplied by any exponent exactly
_LOG_2_HIGH, _SINGLE_LOG_2_HIGH = 6.93147180369123816490e-01, np.float32(0.693359375)
_LOG_2_LOW, _SINGLE_LOG_2_LOW = 1.90821492927058770002e-10, np.float32(-2.12194440e-4)


@intrinsic
def _power_of_two(typing_context: Any, rounded: Any) -> Tuple[Any, Callable]:
    """2^n for the integer n that adding the rounder to it has left in the low bits."""
    bits = ir.IntType(rounded.bitwidth)
    bias, mantissa_bits = (1023, 52) if rounded.bitwidth == 64 else (127, 23)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        exponent = builder.add(builder.bitcast(args[0], bits), bits(bias))
        return builder.bitcast(builder.shl(exponent, bits(mantissa_bits)), args[0].type)

    return rounded(rounded), generate


def exp(x: float) -> float:
    """e^x for x <= 0 to one unit in the last place; unlike `np.exp`, loops over it are vectorised."""
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


def single_exp(x: np.float32) -> np.float32:
    """e^x for a float32 x <= 0 to two units in the last place, computed in float32."""
    rounded = x * np.float32(_LOG2_E) + _SINGLE_ROUNDER
    exponent = rounded - _SINGLE_ROUNDER
    rest = (x - exponent * _SINGLE_LOG_2_HIGH) - exponent * _SINGLE_LOG_2_LOW
    power = np.float32(1.0 / 5040)
    power = power * rest + np.float32(1.0 / 720)
    power = power * rest + np.float32(1.0 / 120)
    power = power * rest + np.float32(1.0 / 24)
    power = power * rest + np.float32(1.0 / 6)
    power = power * rest + np.float32(0.5)
    power = power * rest + np.float32(1.0)
    power = power * rest + np.float32(1.0)
    result = power * _power_of_two(rounded)  # type: ignore[call-arg]
    return np.float32(0.0) if x < np.float32(-87.0) else result


# The rounding must happen as written.
exp, single_exp = (kernel(function, may_reorder=False) for function in (exp, single_exp))


@kernel
def log_sum(scores: np.ndarray) -> float:
    """The log-sum of a vector, -inf where all of it is -inf."""
    peak = scores.max()
    if peak == -np.inf:
        return peak
    total = 0.0
    for k in range(len(scores)):
        total += np.exp(scores[k] - peak)
    return peak + np.log(total)
