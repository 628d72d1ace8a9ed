"""In which precision a transformer computes."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any, Callable, Dict

import torch

#: `auto` is bfloat16 on devices that compute in it, and float32 on others.
PRECISIONS = ("float32", "bfloat16", "auto")


def computing_in(precision: str, device: torch.device) -> AbstractContextManager:
    """Returns a context in which matrices are multiplied in a precision.

    Args:
        precision: One of `PRECISIONS`. In `"float32"` the context changes nothing, so that mixed
            precision of the trainer stays in force.
        device: The device of the matrices.
    """
    if precision == "bfloat16" or (precision == "auto" and has_bfloat16(device)):
        return torch.autocast(device.type, torch.bfloat16)
    return nullcontext()


def has_bfloat16(device: torch.device) -> bool:
    """Whether a device multiplies matrices in bfloat16 faster than in float32."""
    if device.type == "cpu":
        # Older versions of PyTorch do not tell.
        capabilities: Callable[[], Dict[str, Any]] = getattr(torch.cpu, "get_capabilities", dict)
        return bool(capabilities().get("amx_bf16"))
    return device.type == "cuda" and torch.cuda.get_device_capability(device) >= (8, 0)
