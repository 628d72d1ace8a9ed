"""Losses of tokens with one tag each, as pure functions.

Letters: `N` tokens, `K` tags, `y` a token's gold tag, `p_k` the softmax of its scores.

The losses take `scores`, (N, K), in nats, and `gold_tags`, (N,) int64 in [0, K), and return (N,). A
score of -inf makes a tag impossible; each token must have at least one possible tag. No gradient is NaN.
"""

from typing import Tuple

import torch


def merge_tags(scores: torch.Tensor, tag_sets: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
    """Merges the tags of a set into its most probable one, which gets the sum of their probabilities.

    Args:
        scores: (N, K).
        tag_sets: (N, K) bool, the set of tags that each token may have, none of them empty.

    Returns:
        The scores, (N, K), -inf for the other tags of the set; and the tags, (N,) int64.
    """
    of_set = scores.masked_fill(~tag_sets, -torch.inf)
    highest, best = of_set.max(-1)
    # The slope of a log-sum of impossible tags is NaN.
    is_possible = (highest > -torch.inf).unsqueeze(-1)
    total = torch.where(is_possible, of_set, torch.zeros_like(of_set)).logsumexp(-1, keepdim=True)
    merged = torch.where(is_possible, total, torch.full_like(total, -torch.inf))
    # Of impossible tags, the maximum need not be in the set.
    gold_tags = torch.where(is_possible.squeeze(-1), best, tag_sets.int().argmax(-1))
    is_gold = torch.nn.functional.one_hot(gold_tags, scores.size(-1)).bool()
    return torch.where(is_gold, merged, scores.masked_fill(tag_sets, -torch.inf)), gold_tags


def gold_log_probabilities(scores: torch.Tensor, gold_tags: torch.Tensor) -> torch.Tensor:
    """`log p_y`, -inf where the gold tag is impossible."""
    return _of_gold(scores.log_softmax(-1), gold_tags)


def cross_entropy(
    scores: torch.Tensor, gold_tags: torch.Tensor, label_smoothing: float = 0.0
) -> torch.Tensor:
    """`-log p_y`; with smoothing, against a target that gives part of its mass to all possible tags.

    Args:
        scores: (N, K).
        gold_tags: (N,).
        label_smoothing: The share that all possible tags get alike. Szegedy et al. 2016, "Rethinking
            the Inception architecture for computer vision", section 7, have no impossible tags.
    """
    log_probabilities = scores.log_softmax(-1)
    of_gold = -_of_gold(log_probabilities, gold_tags)
    if not label_smoothing:
        return of_gold
    is_possible = log_probabilities > -torch.inf
    of_all = -torch.where(is_possible, log_probabilities, torch.zeros_like(log_probabilities))
    return (1 - label_smoothing) * of_gold + label_smoothing * of_all.sum(-1) / is_possible.sum(-1)


def dice_loss(
    scores: torch.Tensor, gold_tags: torch.Tensor, alpha: float, smoothing: float
) -> torch.Tensor:
    """`N sum_k (q_k - [k = y])^2 / D_k` with `D_k = s + sum_tokens (q_k^2 + [k = y])`.

    The mean over the tokens is `sum_k 1 - (2 sum_tokens q_k [k = y] + s) / D_k`, one minus the Dice
    coefficient of each tag over all tokens. `q_k = (1 - p_k)^alpha p_k`.

    Args:
        scores: (N, K).
        gold_tags: (N,).
        alpha: How much tags of high probability lose weight, at least 0.
        smoothing: `s`, above 0.
    """
    log_probabilities = scores.log_softmax(-1)
    misses = -torch.expm1(log_probabilities)
    # At p = 1 the slope of a power below 1 is infinite.
    misses = misses.clamp(min=torch.finfo(misses.dtype).tiny)
    # (N, K)
    q = misses**alpha * log_probabilities.exp()
    is_gold = torch.nn.functional.one_hot(gold_tags, scores.size(-1)).to(q.dtype)
    # (K,)
    sizes = smoothing + (q**2 + is_gold).sum(0)
    return len(scores) * ((q - is_gold) ** 2 / sizes).sum(-1)


def mean_over_known(
    losses: torch.Tensor, gold_tags: torch.Tensor, mask: torch.Tensor
) -> torch.Tensor:
    """The mean loss of the tokens with a known gold tag; for their sum, take `losses.sum()`.

    Args:
        losses: (B, T), 0 at all other tokens, as a `TokenLoss` returns them.
        gold_tags: (B, T) int64, -1 where unknown; or (B, T, K) bool, as a `TokenLoss` takes them.
        mask: (B, T) bool.

    Returns:
        A scalar, 0 if no gold tag is known.
    """
    is_known = ~gold_tags.all(2) if gold_tags.dtype == torch.bool else gold_tags >= 0
    return losses.sum() / (mask & is_known).sum().clamp(min=1)


def _of_gold(values: torch.Tensor, gold_tags: torch.Tensor) -> torch.Tensor:
    return values.gather(-1, gold_tags.unsqueeze(-1)).squeeze(-1)
