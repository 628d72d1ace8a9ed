"""The focal factor `(1 - p)^gamma`, which lowers the weight of what the model has learnt."""

import torch

from tagger.modules.check_number import check_number


def focal_log_probabilities(log_probabilities: torch.Tensor, gamma: float) -> torch.Tensor:
    """`(1 - p)^gamma log p` (Lin et al. 2017, "Focal loss for dense object detection", equation 4).

    Args:
        log_probabilities: Log p, of any shape; may be -inf.
        gamma: At least 0; 0 returns log p itself.

    Returns:
        The same shape; differentiable, with finite slopes at p = 0 and p = 1 too.
    """
    if not gamma:
        return log_probabilities
    limits = torch.finfo(log_probabilities.dtype)
    # At p = 0 the factor is 1 and flat, but its gradient would be computed as 0 * inf.
    misses = -torch.expm1(log_probabilities.clamp(min=limits.min))
    # At p = 1 the slope of a power below 1 is infinite.
    return misses.clamp(min=limits.tiny) ** gamma * log_probabilities


def check_gamma(gamma: float) -> None:
    """Raises a `ConfigurationError` unless `gamma` is finite and at least 0."""
    check_number("gamma", gamma, gamma >= 0, "a finite number of at least 0, 0 for no focal factor")
