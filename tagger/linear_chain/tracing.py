"""Compatibility with `torch.compile`, `torch.func` and `torch.jit.trace`.

Kernels read memory, which traced tensors do not have. `torch.compile` does not trace the functions.
Under `torch.func` and `torch.jit.trace`, and for forward-mode derivatives, the reference computes them.
"""

import functools
from typing import Any, Callable, List, Optional, TypeVar, cast

import numpy as np
import torch
from torch.autograd import forward_ad

Function = TypeVar("Function", bound=Callable[..., Any])


def not_traced(function: Function) -> Function:
    """Keeps `torch.compile` from tracing a function.

    Outside of `torch.compile`, the function is called without PyTorch's wrapper, which takes longer
    than the checks of a small batch. Creating the wrapper imports modules that take as long as the rest
    of PyTorch, so it is created at first use.
    """
    disabled: Optional[Callable[..., Any]] = None

    @functools.wraps(function)
    def untraced(*args: Any, **kwargs: Any) -> Any:
        nonlocal disabled
        if not torch.compiler.is_compiling():
            return function(*args, **kwargs)
        if disabled is None:
            disabled = torch.compiler.disable(function)
        return disabled(*args, **kwargs)

    # PyTorch 2.1 has the wrapper, but not yet the check whether it is needed.
    has_question = hasattr(torch.compiler, "is_compiling")
    return cast(Function, untraced if has_question else torch.compiler.disable(function))


def is_transformed() -> bool:
    """Whether this runs under `torch.func`, such as `vmap`, `grad` and `jvp`, or `torch.jit.trace`."""
    return torch.jit.is_tracing() or torch._C._functorch.peek_interpreter_stack() is not None


def needs_plain_pytorch() -> bool:
    """Whether kernels cannot be used: if `is_transformed`, or under `forward_ad.dual_level`."""
    return is_transformed() or forward_ad._current_level >= 0


def holds_anywhere(condition: Any) -> bool:
    """Whether a condition, a bool tensor or array, holds anywhere; under `vmap`, in any of its calls."""
    if isinstance(condition, np.ndarray):
        return bool(np.count_nonzero(condition))  # a quarter of the time of `any` for small arrays
    functorch = torch._C._functorch
    while functorch.is_functorch_wrapped_tensor(condition):
        condition = functorch.get_unwrapped(condition)
    return bool(condition.any())


def first_place(condition: Any) -> List[Any]:
    """The indices of the first place where a condition holds; `?` where `is_transformed`."""
    if is_transformed():
        return ["?"] * condition.ndim
    return torch.as_tensor(condition).nonzero()[0].tolist()


def number_at(tensor: torch.Tensor, *place: Any) -> Any:
    """The integer at a place of `first_place`."""
    return "another number" if is_transformed() else int(tensor[place])
