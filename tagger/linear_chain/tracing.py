"""How functions are kept out of `torch.compile`."""

import functools
from typing import Any, Callable

import torch


def not_traced(function: Callable) -> Callable:
    """Keeps `torch.compile` from tracing a function. PyTorch before 2.1 cannot do that.

    Outside of `torch.compile` the function is called without PyTorch's wrapper, which takes longer than
    the checks of a small batch.
    """
    if not hasattr(torch, "compiler"):
        return function
    disabled = torch.compiler.disable(function)
    if not hasattr(torch.compiler, "is_compiling"):
        return disabled

    @functools.wraps(function)
    def untraced(*args: Any, **kwargs: Any) -> Any:
        if torch.compiler.is_compiling():
            return disabled(*args, **kwargs)
        return function(*args, **kwargs)

    return untraced
