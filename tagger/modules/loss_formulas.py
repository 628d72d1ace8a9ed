"""Formulas that several losses share: focal factors, sets of gold tags, known gold tags.

Letters: `B` batch, `T` tokens, `N` tokens with a known gold tag, `K` tags, `C` labels.
"""

from typing import Optional, Tuple

import torch
from torch.nn.functional import logsigmoid

from tagger.common.ranges import check_number

#: Weights of a batch that sum to less are as good as 0.
LEAST_WEIGHT = 1e-12


def focal_log_probabilities(log_probabilities: torch.Tensor, gamma: float) -> torch.Tensor:
    """`(1 - p)^gamma log p` (Lin et al. 2017, "Focal loss for dense object detection", equation 4).

    Log p may have any shape, and be -inf; `gamma` is at least 0. Slopes are finite even at p = 0 and 1.
    """
    if not gamma:
        return log_probabilities
    limits = torch.finfo(log_probabilities.dtype)
    # At p = 0 the factor is 1 and flat, but its gradient would be computed as 0 * inf.
    misses = -torch.expm1(log_probabilities.clamp(min=limits.min))
    # At p = 1 the slope of a power below 1 is infinite.
    return misses.clamp(min=limits.tiny) ** gamma * log_probabilities


def focal_terms(scores: torch.Tensor, positives: torch.Tensor, gamma: float) -> torch.Tensor:
    """`-(1 - q)^gamma log q`, (..., C), `q` the probability of the right answer; `gamma` at least 0.

    `scores` are (..., C) log-odds of labels, `positives`, bool, which of them are right.
    """
    of_target = torch.where(positives, scores, -scores)
    # In log space the power's slope is finite for every gamma.
    return -torch.exp(gamma * logsigmoid(-of_target)) * logsigmoid(of_target)


def check_gamma(gamma: float, name: str = "gamma") -> None:
    """Raises a `ConfigurationError` unless `gamma` is finite and at least 0."""
    check_number(name, gamma, gamma >= 0, "a finite number of at least 0, 0 for no focal factor")


def gold_log_probabilities(scores: torch.Tensor, gold_tags: torch.Tensor) -> torch.Tensor:
    """`log p_y`, (N,), -inf where the gold tag is impossible; scores (N, K), gold tags (N,) int64."""
    return scores.log_softmax(-1).gather(-1, gold_tags.unsqueeze(-1)).squeeze(-1)


def merge_tags(scores: torch.Tensor, tag_sets: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
    """Merges the tags of a set into its most probable one, which gets the sum of their probabilities.

    Sets are (N, K) bool, none empty. Returns the scores, (N, K), -inf for the other tags of the set, and
    the tags, (N,) int64.
    """
    of_set = scores.masked_fill(~tag_sets, -torch.inf)
    highest, best = of_set.max(-1)
    # The slope of a log-sum of impossible tags is NaN.
    is_possible = (highest > -torch.inf).unsqueeze(-1)
    total = torch.where(is_possible, of_set, torch.zeros_like(of_set)).logsumexp(-1, keepdim=True)
    merged = torch.where(is_possible, total, torch.full_like(total, -torch.inf))
    # If a set's tags are all impossible, the maximum may lie outside the set.
    gold_tags = torch.where(is_possible.squeeze(-1), best, tag_sets.int().argmax(-1))
    is_gold = torch.nn.functional.one_hot(gold_tags, scores.size(-1)).bool()
    return torch.where(is_gold, merged, scores.masked_fill(tag_sets, -torch.inf)), gold_tags


def are_known(gold_tags: torch.Tensor) -> torch.Tensor:
    """Which gold tags are known, (B, T) bool: those that are not -1, and sets that exclude a tag."""
    return ~gold_tags.all(2) if gold_tags.dim() == 3 else gold_tags >= 0


def weighted_mean(losses: torch.Tensor, weights: Optional[torch.Tensor]) -> torch.Tensor:
    """The mean of losses, (N,), weighted if there are weights, (N,); 0 if these are all 0.

    Example:
        >>> weighted_mean(torch.tensor([1.0, 4.0]), torch.tensor([2.0, 1.0])).item()
        2.0
    """
    if weights is None:
        return losses.mean()
    return (weights * losses).sum() / weights.sum().clamp(min=LEAST_WEIGHT)
