"""Log normalisers and likelihoods."""

from typing import Any, List, Optional, Tuple

import numpy as np
import torch

from tagger.kernels.compilation import for_row_ranges
from tagger.linear_chain import reference
from tagger.linear_chain.autograd import ScoreFunction, gradients_of
from tagger.linear_chain.chain_scores import ChainScores
from tagger.linear_chain.cpu.arrays import array, arrays, gradients_by_scores, ones, tag_array
from tagger.linear_chain.cpu.kernels.sum_product import forward_rows, gradient_rows
from tagger.linear_chain.tracing import not_traced


def log_partition(scores: ChainScores, lengths: torch.Tensor) -> torch.Tensor:
    """log Z, (B,)."""
    values = _values(lambda s: reference.log_partition(s, lengths).unsqueeze(1), scores, lengths, 1)
    return values.squeeze(1)


def step_log_normalizers(scores: ChainScores, lengths: torch.Tensor) -> torch.Tensor:
    """log z_t of each token, (B, T)."""
    num_tokens = scores.emissions.size(1)
    return _values(
        lambda s: reference.step_log_normalizers(s, lengths), scores, lengths, num_tokens
    )


def log_likelihood(scores: ChainScores, tags: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """The log-probability of the path `tags`, (B,)."""
    values = _values(
        lambda s: reference.log_likelihood(s, tags, lengths).unsqueeze(1), scores, lengths, 1, tags
    )
    return values.squeeze(1)


def step_log_likelihoods(
    scores: ChainScores, tags: torch.Tensor, lengths: torch.Tensor
) -> torch.Tensor:
    """What each token adds to the log-probability of the path `tags`, (B, T)."""
    num_tokens = scores.emissions.size(1)
    return _values(
        lambda s: reference.step_log_likelihoods(s, tags, lengths),
        scores,
        lengths,
        num_tokens,
        tags,
    )


@not_traced
def _values(
    specification: ScoreFunction,
    scores: ChainScores,
    lengths: torch.Tensor,
    width: int,
    tags: Optional[torch.Tensor] = None,
) -> torch.Tensor:
    """Log normalisers, or log-likelihoods of `tags`: (B, T), or where `width` is 1 their sum, (B, 1)."""
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in scores):
        return _Values.apply(specification, lengths, tags, width, *scores)
    return torch.from_numpy(_forward(arrays(scores), lengths, tags, width))


class _Values(torch.autograd.Function):
    """Log normalisers or log-likelihoods with derivatives.

    A sum is mostly differentiated with the same weight for all rows. So its gradients for weight 1
    are computed along with it, and computed again only where the weights turn out to differ.
    """

    @staticmethod
    def forward(
        ctx: Any,
        specification: ScoreFunction,
        lengths: torch.Tensor,
        tags: Optional[torch.Tensor],
        width: int,
        *scores: torch.Tensor,
    ) -> torch.Tensor:
        ctx.specification, ctx.lengths, ctx.tags = specification, lengths, tags
        chain = arrays(scores)
        gradients: List[np.ndarray] = []
        if width == 1:
            values, gradients = value_and_gradients(chain, lengths, tags, ones(chain))
        else:
            values = _forward(chain, lengths, tags, width)
        ctx.save_for_backward(*scores, *map(torch.from_numpy, gradients))
        return torch.from_numpy(values)

    @staticmethod
    def backward(ctx: Any, weights: torch.Tensor) -> Tuple[Optional[torch.Tensor], ...]:
        scores, gradients = ctx.saved_tensors[:4], ctx.saved_tensors[4:]
        if torch.is_grad_enabled():
            gradients = gradients_of(ctx.specification, scores, weights)
        elif gradients and bool((weights == weights[0]).all()):
            gradients = tuple(gradient * weights[0, 0] for gradient in gradients)
        else:
            chain = arrays(scores)
            _, by_scores = value_and_gradients(chain, ctx.lengths, ctx.tags, array(weights))
            gradients = tuple(map(torch.from_numpy, by_scores))
        return (None, None, None, None, *gradients)


def _forward(
    chain: List[np.ndarray], lengths: torch.Tensor, tags: Optional[torch.Tensor], width: int
) -> np.ndarray:
    num_tags = chain[0].shape[2]
    values = np.zeros((len(chain[0]), width), chain[0].dtype)
    tag_indices = tag_array(tags, len(values))
    for_row_ranges(forward_rows, array(lengths), num_tags**2, *chain, tag_indices, values)
    return values


def value_and_gradients(
    chain: List[np.ndarray],
    lengths: torch.Tensor,
    tags: Optional[torch.Tensor],
    weights: np.ndarray,
) -> Tuple[np.ndarray, List[np.ndarray]]:
    """The values as `_forward`, and the gradients of their sum weighted by `weights` (B, width)."""
    emissions = chain[0]
    values, by_emissions = np.zeros_like(weights), np.zeros_like(emissions)
    by_others = for_row_ranges(
        gradient_rows,
        array(lengths),
        3 * emissions.shape[2] ** 2,
        *chain,
        tag_array(tags, len(values)),
        values,
        weights,
        by_emissions,
    )
    return values, gradients_by_scores(by_emissions, by_others)
