"""Matrices of four bits a weight, stored in a quarter of the space without any loss.

`fetch-encoder` writes weights as float32 that were packed in blocks: 32 weights are whole numbers from
-8 to 7, times a common scale. In an archive these numbers are stored instead, as int8, with the scales.
Every other weight is stored as it is.

Letters: `N` blocks.
"""

from typing import Any, Dict, Iterable, Optional, Tuple

import torch

_NUMBERS, _SCALES = ".numbers", ".scales"
_SIZE = 32


def with_blocks(model: Any) -> Dict[str, torch.Tensor]:
    """Returns a model's weights by name, with two tensors in place of each matrix of four bits."""
    tensors: Dict[str, torch.Tensor] = {}
    for name, weight in model.state_dict().items():
        blocks = blocks_of(weight)
        if blocks is None:
            tensors[name] = weight
        else:
            tensors[name + _NUMBERS], tensors[name + _SCALES] = blocks
    return tensors


def has_blocks(names: Iterable[str]) -> bool:
    """Whether there are blocks among the names of `with_blocks`."""
    return any(name.endswith(_SCALES) for name in names)


def blocks_of(weight: torch.Tensor) -> Optional[Tuple[torch.Tensor, torch.Tensor]]:
    """Returns the numbers (N, 32) int8 and the scales (N,) float16 of a matrix, float32.

    Returns:
        None if numbers from -8 to 7 and scales do not give exactly these weights.
    """
    if weight.dim() != 2 or weight.dtype != torch.float32 or weight.numel() % _SIZE:
        return None
    blocks = weight.detach().reshape(-1, _SIZE)
    # The largest weight of a block is -8 times the scale.
    largest = blocks.gather(1, blocks.abs().argmax(1, keepdim=True))  # (N, 1)
    scales = (largest / -8).half()
    numbers = (blocks / scales.float()).nan_to_num_(0, 0, 0).round_().clamp_(-8, 7)  # (N, 32)
    if not torch.equal(numbers * scales.float(), blocks):
        return None
    return numbers.to(torch.int8), scales.squeeze(1)


@torch.no_grad()
def load_blocks(model: Any, tensors: Dict[str, torch.Tensor]) -> None:
    """Fills a model with tensors of `with_blocks`.

    Raises:
        ValueError: If blocks do not fit their matrix.
        RuntimeError: If tensors are missing, or are not of the model.
    """
    weights = model.state_dict()
    tensors = dict(tensors)
    for name in [each for each in weights if each + _SCALES in tensors]:
        weight = weights[name]
        scales = tensors.pop(name + _SCALES)
        numbers = tensors.pop(name + _NUMBERS, torch.empty(0))
        num = weight.numel() // _SIZE
        fits = numbers.shape == (num, _SIZE) and scales.shape == (num,)
        if not fits or numbers.dtype != torch.int8 or weight.numel() % _SIZE:
            raise ValueError(f"the blocks of `{name}` do not fit it")
        weight.view(-1, _SIZE).copy_(numbers).mul_(scales.float()[:, None])
        tensors[name] = weight
    model.load_state_dict(tensors)
