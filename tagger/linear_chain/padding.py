"""Which of the T tokens of B right-padded rows are real."""

import torch


def real_tokens(lengths: torch.Tensor, num_tokens: int) -> torch.Tensor:
    """Which tokens of each row are real, (B, T) bool, given the number of them in each row, (B,)."""
    return torch.arange(num_tokens, device=lengths.device) < lengths.unsqueeze(1)


def last_tokens(mask: torch.Tensor) -> torch.Tensor:
    """(B, T), true at the last real token of each row."""
    following = torch.cat([mask[:, 1:], torch.zeros_like(mask[:, :1])], dim=1)
    return mask & ~following


def without_padding(values: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """`values`, (B, T, ...), with zeros where `mask` is false, to keep padding out of results."""
    mask = mask.view(*mask.shape, *[1] * (values.dim() - 2))
    return torch.where(mask, values, torch.zeros_like(values))
