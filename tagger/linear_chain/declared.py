"""Declares the values of tensors on a GPU, so that checking them does not force a sync.

Reading a value from a GPU waits for all work that is queued there. The code that makes a batch on the
CPU knows the values, and can declare them. A declaration holds for one tensor object until that tensor
is written to.
"""

from typing import Any, Optional, Tuple

import torch

from tagger.linear_chain.tracing import holds_anywhere


def declare_right_padded(mask: torch.Tensor) -> torch.Tensor:
    """Declares that in each row the real tokens come first.

    On a GPU this is still checked, asynchronously: after a mask with a hole, any later call may fail
    with "device-side assert triggered", and the process can no longer use the GPU. On a CPU the
    declaration changes nothing.

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
    """The declared smallest and largest number, `None` if none were declared."""
    declared: Optional[Tuple[int, int]] = _declared(tags, "_range")
    return declared


def has_unknown_tags(gold_tags: torch.Tensor, mask: torch.Tensor) -> bool:
    """Whether a real token's tag is -1; syncs with a GPU unless a declared range excludes it."""
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
    """How often the tensor was written to; 0 for inference tensors, which do not count this."""
    return 0 if tensor.is_inference() else tensor._version
