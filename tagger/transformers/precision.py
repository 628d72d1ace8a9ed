"""In which precision a transformer computes."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any, Callable, Dict

import torch

#: `auto` is bfloat16 where a device has units for it, and float32 elsewhere.
PRECISIONS = ("float32", "bfloat16", "auto")


def computing_in(precision: str, device: torch.device) -> AbstractContextManager:
    """Returns a context in which matrices are multiplied in a precision.

    Args:
        precision: One of `PRECISIONS`. In `"float32"` the context changes nothing, so that mixed
            precision of the trainer stays in force.
        device: The device of the matrices.
    """
    if precision == "bfloat16" or (precision == "auto" and has_bfloat16_matrices(device)):
        return torch.autocast(device.type, torch.bfloat16)
    return nullcontext()


def has_bfloat16_matrices(device: torch.device) -> bool:
    """Whether a device has units for matrices in bfloat16.

    A processor that has instructions for vectors of bfloat16 alone, AVX-512 without AMX, loses more by
    converting than it gains: docs/fine_tuning.md.
    """
    if device.type == "cuda":
        return torch.cuda.get_device_capability(device) >= (8, 0)
    # Older versions of PyTorch do not tell.
    capabilities: Callable[[], Dict[str, Any]] = getattr(torch.cpu, "get_capabilities", dict)
    return device.type == "cpu" and bool(capabilities().get("amx_bf16"))
