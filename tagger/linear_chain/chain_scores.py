"""The scores that define a linear chain, and gold tags that may be unknown.

Letters: `B` rows (sequences), `T` tokens, `K` tags.
"""

from typing import NamedTuple

import torch


class ChainScores(NamedTuple):
    """The four score tensors of a batch of linear chains, in nats.

    The score of a path is `start[y_1] + sum_t emissions[t, y_t] + sum_t transitions[y_{t-1}, y_t] +
    end[y_T]`. A score of -inf makes a tag or a transition impossible.

    Args:
        emissions: (B, T, K), the score of each tag at each token.
        transitions: (K, K), `transitions[i, j]` from tag i to tag j.
        start: (K,), the score of opening a sequence with each tag.
        end: (K,), the score of closing a sequence with each tag.
    """

    emissions: torch.Tensor
    transitions: torch.Tensor
    start: torch.Tensor
    end: torch.Tensor


def allowed_tags(gold_tags: torch.Tensor, num_tags: int) -> torch.Tensor:
    """The tags that each token may have, (B, T, K) bool.

    Args:
        gold_tags: (B, T) int64, -1 where every tag is allowed; or (B, T, K) bool, returned unchanged.
        num_tags: K.
    """
    if gold_tags.dim() == 3:
        return gold_tags
    every_tag = torch.arange(num_tags, device=gold_tags.device)
    return (gold_tags.unsqueeze(2) == every_tag) | (gold_tags.unsqueeze(2) == -1)


def restricted(scores: ChainScores, allowed: torch.Tensor) -> ChainScores:
    """`scores` with -inf for the emissions of tags that are not allowed; `allowed` is (B, T, K) bool."""
    impossible = torch.full_like(scores.emissions, -torch.inf)
    return scores._replace(emissions=torch.where(allowed, scores.emissions, impossible))


def in_float64_on_cpu(scores: ChainScores) -> ChainScores:
    """`scores` in float64 on a CPU, as kernels compute there; unchanged on a GPU, where it is slow."""
    return scores if scores.emissions.is_cuda else ChainScores(*(x.double() for x in scores))
