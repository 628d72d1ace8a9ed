"""The effective number of items (Cui et al. 2019)."""

import math

import torch


def inverse_effective_number(counts: torch.Tensor, beta: float) -> torch.Tensor:
    """Returns `(1 - beta) / (1 - beta**n)`, one over the effective number of `n` items.

    After Cui et al. 2019, "Class-balanced loss based on effective number of samples", equation 2. It
    falls from 1 at a count of 1 to `1 - beta` at counts far above `1 / (1 - beta)`. A count of 0 is
    taken for 1.

    Args:
        counts: `n`, of any shape; integers give single precision.
        beta: From 0, which gives 1 for every count, to below 1.

    Returns:
        The same shape.

    Example:
        >>> inverse_effective_number(torch.tensor([0, 1, 2, 1000]), beta=0.5)
        tensor([1.0000, 1.0000, 0.6667, 0.5000])
    """
    log_beta = math.log(beta) if beta else -math.inf
    # `expm1`, because 1 - .9999^n would lose its digits in single precision.
    return (beta - 1) / torch.expm1(counts.clamp(min=1) * log_beta)
