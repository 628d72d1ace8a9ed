"""Exponentials and log-sums that loops in kernels can be vectorised over."""

from typing import Any, Callable, Tuple

import numba.types
import numpy as np
from llvmlite import ir
from numba.extending import intrinsic

from tagger.linear_chain.cpu.kernels.compilation import kernel

_LOG2_E = 1.4426950408889634
# Adding it to a float64 leaves the nearest integer in the low bits.
_ROUNDER = 6755399441055744.0
# log 2 in two parts, the first of few enough bits to be multiplied by any exponent exactly
_LOG_2_HIGH = 6.93147180369123816490e-01
_LOG_2_LOW = 1.90821492927058770002e-10


@intrinsic
def _as_int(typing_context: Any, value: Any) -> Tuple[Any, Callable]:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.IntType(64))

    return numba.types.int64(numba.types.float64), generate


@intrinsic
def _as_float(typing_context: Any, value: Any) -> Tuple[Any, Callable]:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.DoubleType())

    return numba.types.float64(numba.types.int64), generate


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
    result = power * _as_float((_as_int(rounded) + 1023) << 52)  # type: ignore[call-arg]
    return 0.0 if x < -708.0 else result


# The rounding must happen as written.
exp = kernel(exp, may_reorder=False)


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
