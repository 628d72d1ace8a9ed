"""Sums, ratios and probabilities of logarithms, with exact zeros and gradients of 0 at -inf.

Letters: `B` rows, `T` tokens.
"""

from typing import Optional, Tuple

import torch


def logsumexp(scores: torch.Tensor, dim: int) -> torch.Tensor:
    """Like `torch.logsumexp`, but with a gradient of 0, not NaN, where all scores are -inf."""
    maximum = scores.detach().amax(dim, keepdim=True)
    maximum = torch.where(maximum != -torch.inf, maximum, torch.zeros_like(maximum))
    total = (scores - maximum).exp().sum(dim)
    is_possible = total != 0
    # The inner selection keeps log(0), and its infinite slope, out of the graph.
    log_total = torch.where(is_possible, total, torch.ones_like(total)).log()
    impossible = torch.full_like(log_total, -torch.inf)
    return torch.where(is_possible, log_total + maximum.squeeze(dim), impossible)


def normalized(scores: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
    """Normalises over the last dimension.

    Returns:
        `scores` minus their log-sum, or `scores` where all are -inf; and the log-sum.
    """
    is_possible = (scores != -torch.inf).any(-1, keepdim=True)
    # Large scores minus their log-sum would lack the digits that make probabilities sum to 1.
    shares = torch.where(is_possible, scores, torch.zeros_like(scores)).log_softmax(-1)
    return torch.where(is_possible, shares, scores), logsumexp(scores, dim=-1)


def normalized_exp(scores: torch.Tensor, dim: int) -> torch.Tensor:
    """The softmax of `scores`, with zeros instead of NaN where all are -inf."""
    is_possible = (scores != -torch.inf).any(dim, keepdim=True)
    zeros = torch.zeros_like(scores)
    return torch.where(is_possible, torch.where(is_possible, scores, zeros).softmax(dim), zeros)


def log_ratio(log_part: torch.Tensor, log_whole: torch.Tensor) -> torch.Tensor:
    """`log_part - log_whole`; -inf, without a gradient, where either is -inf."""
    is_possible = (log_part != -torch.inf) & (log_whole != -torch.inf)
    return torch.where(is_possible, log_part - log_whole, torch.full_like(log_part, -torch.inf))


def total_of(steps: torch.Tensor, weights: Optional[torch.Tensor] = None) -> torch.Tensor:
    """Sums `steps`, (B, T), times `weights` if given, over tokens; without a gradient where -inf."""
    is_possible = (steps != -torch.inf).all(1)
    steps = torch.where(is_possible.unsqueeze(1), steps, torch.zeros_like(steps))
    if weights is not None:
        steps = steps * weights.to(steps.dtype)
    total = steps.sum(1)
    return torch.where(is_possible, total, torch.full_like(total, -torch.inf))


def constant_if_impossible(values: torch.Tensor) -> torch.Tensor:
    """`values`, without a gradient where they are -inf."""
    return values.masked_fill(values == -torch.inf, -torch.inf)
