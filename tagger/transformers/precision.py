"""The precision in which a transformer computes."""

from contextlib import AbstractContextManager, nullcontext
from importlib.util import find_spec
from typing import Any, Callable, Dict

import torch

#: `auto` is the fastest on a device: `computing_in` and `precision_of_frozen` say which.
PRECISIONS = ("float32", "bfloat16", "auto")


def computing_in(precision: str, device: torch.device) -> AbstractContextManager:
    """Returns a context in which matrices are multiplied in one of `PRECISIONS`.

    `"auto"` is bfloat16 if the device has instructions for it, else float32. With `"float32"` the
    context changes nothing, so the trainer's mixed precision stays in force.
    """
    is_fast = _has_bfloat16_matrices(device) or (device.type == "cpu" and has_bfloat16_products())
    if precision == "bfloat16" or (precision == "auto" and is_fast):
        return torch.autocast(device.type, torch.bfloat16)
    return nullcontext()


def precision_of_frozen(precision: str, device: torch.device) -> str:
    """Returns the precision in which a frozen transformer computes: float32, bfloat16 or int8.

    `"auto"` is bfloat16 if the device has matrix units for it, else int8 on a CPU with instructions for
    it, else float32.
    """
    if precision != "auto":
        return precision
    if _has_bfloat16_matrices(device):
        return "bfloat16"
    return "int8" if device.type == "cpu" and has_int8_matrices() else "float32"


def _has_bfloat16_matrices(device: torch.device) -> bool:
    # With AVX-512 BF16 but without AMX, 8-bit integers are faster: docs/how_to/transformers.md.
    if device.type == "cuda":
        return torch.cuda.get_device_capability(device) >= (8, 0)
    return device.type == "cpu" and bool(_capabilities().get("amx_bf16"))


def has_bfloat16_products() -> bool:
    """Whether the CPU has instructions that multiply in bfloat16 (AVX-512 BF16 or AMX)."""
    capabilities = _capabilities()
    return bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))


def has_int8_matrices() -> bool:
    """Whether the CPU multiplies 8-bit integers without overflow, and the libraries are installed."""
    is_installed = hasattr(torch, "_int_mm") and find_spec("numba") is not None
    return is_installed and bool(_capabilities().get("avx512_vnni"))


def _capabilities() -> Dict[str, Any]:
    # Not every supported version of PyTorch reports them.
    capabilities: Callable[[], Dict[str, Any]] = getattr(torch.cpu, "get_capabilities", dict)
    return capabilities()
