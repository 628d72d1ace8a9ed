"""What is known of the values of tensors on a GPU, so that no check has to ask the GPU for them.

Asking makes the host wait until the GPU has done all that it was told before. Whoever makes a batch
knows its values from the CPU and declares them. A declaration holds for one tensor object until it is
written to.
"""

from typing import Any, Optional, Tuple

import torch

from tagger.linear_chain.tracing import holds_anywhere


def declare_right_padded(mask: torch.Tensor) -> torch.Tensor:
    """Declares that in each row the real tokens come first.

    On a GPU this is still checked, without waiting: a mask with a hole ends the process's use of the GPU
    with "device-side assert triggered", at any later call. On a CPU the declaration changes nothing.

    Args:
        mask: (B, T) bool, true at real tokens.
    """
    return _declare(mask, "_is_right_padded", True)


def declare_range(tags: torch.Tensor, lowest: int, highest: int) -> torch.Tensor:
    """Declares the smallest and the largest number in `tags`, padding included; returns `tags`."""
    return _declare(tags, "_range", (lowest, highest))


def is_declared_right_padded(mask: torch.Tensor) -> bool:
    """Whether `declare_right_padded` was called for this mask."""
    return bool(_declared(mask, "_is_right_padded"))


def declared_range(tags: torch.Tensor) -> Optional[Tuple[int, int]]:
    """The smallest and the largest number that were declared, if they were."""
    declared: Optional[Tuple[int, int]] = _declared(tags, "_range")
    return declared


def has_unknown_tags(gold_tags: torch.Tensor, mask: torch.Tensor) -> bool:
    """Whether a real token's tag is -1; the host waits for a GPU only if no range was declared."""
    declared = declared_range(gold_tags)
    if declared is not None and declared[0] >= 0:
        return False
    return holds_anywhere((gold_tags == -1) & mask)


def _declare(tensor: torch.Tensor, name: str, value: Any) -> torch.Tensor:
    setattr(tensor, name, (value, _version(tensor)))
    return tensor


def _declared(tensor: torch.Tensor, name: str) -> Any:
    value, version = getattr(tensor, name, (None, None))
    return value if version == _version(tensor) else None


def _version(tensor: torch.Tensor) -> int:
    """How often the tensor was written to; tensors of `torch.inference_mode` do not count it."""
    return 0 if tensor.is_inference() else tensor._version
