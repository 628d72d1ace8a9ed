"""The predictions of the chains of several labels, put together.

Letters: `B` sentences, `T` tokens, `C` labels, `M` the most candidates that begin at one token.
"""

from typing import Optional, Sequence

import torch


def stacked(tensors: Sequence[Optional[torch.Tensor]]) -> torch.Tensor:
    """Stacks what chains give, (B, T) or (B, T, M), to (B, T, C, ...), 0 where there is nothing."""
    given = [tensor for tensor in tensors if tensor is not None]
    shape = [max(sizes) for sizes in zip(*(tensor.shape for tensor in given))]
    missing = given[0].new_zeros(())
    padded = [missing.expand(shape) if each is None else _padded(each, shape) for each in tensors]
    return torch.stack(padded, 2)


def _padded(tensor: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
    """A tensor (B, T) as it is; (B, T, M) with more zeros."""
    return torch.nn.functional.pad(tensor, (0, shape[-1] - tensor.shape[-1]))
