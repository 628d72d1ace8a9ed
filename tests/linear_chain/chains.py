"""Random chains for tests."""

from typing import List, Optional

import torch

from tagger.linear_chain import ChainScores


def random_chains(
    batch_size: int,
    num_tokens: int,
    num_tags: int,
    seed: int = 0,
    scale: float = 1.0,
    dtype: torch.dtype = torch.float64,
    requires_grad: bool = False,
) -> ChainScores:
    """Normally distributed scores, `scale` wide."""
    generator = torch.Generator().manual_seed(seed)

    def scores(*shape: int) -> torch.Tensor:
        values = torch.randn(*shape, generator=generator, dtype=torch.float64) * scale
        return values.to(dtype).requires_grad_(requires_grad)

    return ChainScores(
        scores(batch_size, num_tokens, num_tags),
        scores(num_tags, num_tags),
        scores(num_tags),
        scores(num_tags),
    )


def random_tags(batch_size: int, num_tokens: int, num_tags: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(num_tags, (batch_size, num_tokens), generator=generator)


def mask_of(lengths: List[int], num_tokens: Optional[int] = None) -> torch.Tensor:
    """(B, T) bool, right-padded."""
    width = max(lengths) if num_tokens is None else num_tokens
    return torch.arange(width) < torch.tensor(lengths).unsqueeze(1)
