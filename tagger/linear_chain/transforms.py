"""How the functions get on with `torch.func` and with forward-mode derivatives.

Their tensors have no memory that kernels could read, so the reference computes them.
"""

from typing import Any, List

import torch
from torch.autograd import forward_ad


def is_transformed() -> bool:
    """Whether `torch.func` is at work here, as in `vmap`, `grad` and `jvp`."""
    return torch._C._functorch.peek_interpreter_stack() is not None


def needs_plain_pytorch() -> bool:
    """Whether kernels cannot take part: in `torch.func` and under `forward_ad.dual_level`."""
    return is_transformed() or forward_ad._current_level >= 0


def holds_anywhere(condition: Any) -> bool:
    """Whether a condition, a bool tensor or array, holds anywhere; under `vmap`, in any of its calls."""
    return bool(_unwrapped(condition).any())


def first_place(condition: Any) -> List[Any]:
    """The indices of the first place where a condition holds; `?` under `torch.func`."""
    if is_transformed():
        return ["?"] * condition.ndim
    return torch.as_tensor(condition).nonzero()[0].tolist()


def number_at(tensor: torch.Tensor, *place: Any) -> Any:
    """The integer at a place of `first_place`."""
    return "another number" if is_transformed() else int(tensor[place])


def _unwrapped(tensor: Any) -> Any:
    functorch = torch._C._functorch
    while isinstance(tensor, torch.Tensor) and functorch.is_functorch_wrapped_tensor(tensor):
        tensor = functorch.get_unwrapped(tensor)
    return tensor
