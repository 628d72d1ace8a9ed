"""Imports Triton, or a stand-in that lets the kernel modules be imported without it.

AllenNLP imports every module of a plugin, even on machines without Triton.
"""

from typing import Any

try:
    import triton
    import triton.language as tl
except ImportError:

    class _NoTriton:
        @staticmethod
        def jit(function: Any = None, **_options: Any) -> Any:
            return function or (lambda function: function)

        @staticmethod
        def constexpr(value: Any) -> Any:
            return value

    triton = tl = _NoTriton()

__all__ = ["tl", "triton"]
