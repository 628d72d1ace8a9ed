"""Losses of tokens that have one tag each, as pure functions.

Letters: `K` tags, `y` a token's gold tag, `p_k` the softmax of the scores, `...` any leading axes, such
as (B, T).

The losses take `scores`, (..., K), in nats, and `tags`, (...) int64 in [0, K), and return (...). A score
of -inf makes a tag impossible; one tag of each token has to be possible. No gradient is NaN.
"""

import torch


def gold_log_probabilities(scores: torch.Tensor, tags: torch.Tensor) -> torch.Tensor:
    """`log p_y`, -inf where the gold tag is impossible."""
    return _of_gold(scores.log_softmax(-1), tags)


def cross_entropy(
    scores: torch.Tensor, tags: torch.Tensor, label_smoothing: float = 0.0
) -> torch.Tensor:
    """`-log p_y`; with smoothing against a target that gives part of its mass to all possible tags.

    Args:
        scores: (..., K).
        tags: (...).
        label_smoothing: the share that all tags get alike, as in Szegedy et al. 2016, "Rethinking the
            Inception architecture for computer vision", section 7, but for impossible tags.
    """
    log_probabilities = scores.log_softmax(-1)
    of_gold = -_of_gold(log_probabilities, tags)
    if not label_smoothing:
        return of_gold
    is_possible = log_probabilities > -torch.inf
    of_all = -torch.where(is_possible, log_probabilities, torch.zeros_like(log_probabilities))
    return (1 - label_smoothing) * of_gold + label_smoothing * of_all.sum(-1) / is_possible.sum(-1)


def dice_loss(
    scores: torch.Tensor, tags: torch.Tensor, alpha: float, smoothing: float
) -> torch.Tensor:
    """`sum_k 1 - (2 q_k [k = y] + s) / (q_k + [k = y] + s)` with `q_k = (1 - p_k)^alpha p_k`.

    Args:
        scores: (..., K).
        tags: (...).
        alpha: how much tags of high probability lose weight, at least 0.
        smoothing: `s`, above 0; the larger, the flatter.
    """
    log_probabilities = scores.log_softmax(-1)
    misses = -torch.expm1(log_probabilities)
    # At p = 1 the slope of a power below 1 is infinite.
    misses = misses.clamp(min=torch.finfo(misses.dtype).tiny)
    # (..., K)
    q = misses**alpha * log_probabilities.exp()
    is_gold = torch.nn.functional.one_hot(tags, scores.size(-1)).bool()
    return torch.where(is_gold, (1 - q) / (q + 1 + smoothing), q / (q + smoothing)).sum(-1)


def mean_over_known(losses: torch.Tensor, tags: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """The mean of the losses of tokens whose tag is known; their sum is `losses.sum()`.

    Args:
        losses: (B, T), 0 at all other tokens, as a `TokenLoss` returns them.
        tags: (B, T) int64, -1 where unknown.
        mask: (B, T) bool.

    Returns:
        A scalar, 0 where no tag is known.
    """
    return losses.sum() / (mask & (tags >= 0)).sum().clamp(min=1)


def _of_gold(values: torch.Tensor, tags: torch.Tensor) -> torch.Tensor:
    return values.gather(-1, tags.unsqueeze(-1)).squeeze(-1)
