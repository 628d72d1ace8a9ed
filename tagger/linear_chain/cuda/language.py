"""Triton and its language, or what lets the modules of kernels be imported without them.

AllenNLP imports every module of a plugin, whether or not the machine has a use for it.
"""

from typing import Any, Callable

try:
    import triton
    import triton.language as tl
except ImportError:

    class _NoTriton:
        @staticmethod
        def jit(function: Callable) -> Callable:
            return function

        @staticmethod
        def constexpr(value: Any) -> Any:
            return value

    triton = tl = _NoTriton()

__all__ = ["tl", "triton"]
