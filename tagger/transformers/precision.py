"""In which precision a transformer is trained."""

from contextlib import AbstractContextManager, nullcontext

import torch

from tagger.transformers.word_features import dtype_on

#: `auto` is bfloat16 on devices that compute in it natively, and float32 on others.
PRECISIONS = ("float32", "bfloat16", "auto")


def computing_in(precision: str, device: torch.device) -> AbstractContextManager:
    """Returns a context in which matrices are multiplied in a precision.

    Args:
        precision: One of `PRECISIONS`. In `"float32"` the context changes nothing, so that mixed
            precision of the trainer stays in force.
        device: The device of the matrices.
    """
    if precision == "bfloat16" or (precision == "auto" and dtype_on(device) == torch.bfloat16):
        return torch.autocast(device.type, torch.bfloat16)
    return nullcontext()
