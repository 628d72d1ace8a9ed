"""How functions are kept out of `torch.compile`."""

import functools
from typing import Any, Callable

import torch

from tagger_compat import after_import


def not_traced(function: Callable) -> Callable:
    """Keeps `torch.compile` from tracing a function. PyTorch before 2.1 cannot do that.

    Outside of `torch.compile` the function is called without PyTorch's wrapper, which takes longer than
    the checks of a small batch.
    """
    if not hasattr(torch, "compiler"):
        return function
    if not hasattr(torch.compiler, "is_compiling"):
        return torch.compiler.disable(function)

    disabled = function

    def disable() -> None:
        nonlocal disabled
        disabled = torch.compiler.disable(function)

    # It would import this, which takes as long as the rest of PyTorch.
    after_import("torch._dynamo", disable)

    @functools.wraps(function)
    def untraced(*args: Any, **kwargs: Any) -> Any:
        if torch.compiler.is_compiling():
            return disabled(*args, **kwargs)
        return function(*args, **kwargs)

    return untraced
