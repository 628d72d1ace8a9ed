"""The functions of `tagger.linear_chain.reference`, computed by Numba kernels on CPU tensors.

Second derivatives, and the derivatives of marginals, are taken through the reference.
"""

from typing import Any, List, Optional, Tuple

import numpy as np
import torch

from tagger.linear_chain import reference
from tagger.linear_chain.autograd import (
    ReferenceDerivatives,
    ScoreFunction,
    gradients_of,
    not_traced,
)
from tagger.linear_chain.chain_scores import ChainScores
from tagger.linear_chain.cpu.compilation import for_row_ranges
from tagger.linear_chain.cpu.max_sum import best_rows, k_best_rows
from tagger.linear_chain.cpu.sum_product import (
    forward_rows,
    gradient_rows,
    transition_marginal_rows,
)
from tagger.linear_chain.reference import backward_scores, forward_scores, step_scores

__all__ = [
    "backward_scores",
    "forward_scores",
    "k_best_decode",
    "log_likelihood",
    "log_partition",
    "step_log_likelihoods",
    "step_log_normalizers",
    "step_scores",
    "tag_marginals",
    "transition_marginals",
]


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
def tag_marginals(scores: ChainScores, lengths: torch.Tensor) -> torch.Tensor:
    """p(y_t = k | x), (B, T, K)."""

    def kernel(scores: ChainScores) -> torch.Tensor:
        chain = _arrays(scores)
        return torch.from_numpy(_gradients(chain, lengths, None, _ones(chain))[1][0])

    return ReferenceDerivatives.apply(
        kernel, lambda s: reference.tag_marginals(s, lengths), *scores
    )


@not_traced
def transition_marginals(scores: ChainScores, lengths: torch.Tensor) -> torch.Tensor:
    """p(y_t = i, y_{t+1} = j | x), (B, T - 1, K, K)."""

    def kernel(scores: ChainScores) -> torch.Tensor:
        chain = _arrays(scores)
        batch_size, num_tokens, num_tags = chain[0].shape
        shape = (batch_size, max(num_tokens - 1, 0), num_tags, num_tags)
        marginals = np.zeros(shape, chain[0].dtype)
        for_row_ranges(
            transition_marginal_rows, _array(lengths), 4 * num_tags**2, *chain, marginals
        )
        return torch.from_numpy(marginals)

    return ReferenceDerivatives.apply(
        kernel, lambda s: reference.transition_marginals(s, lengths), *scores
    )


@not_traced
def k_best_decode(
    scores: ChainScores, lengths: torch.Tensor, k: int
) -> Tuple[torch.Tensor, torch.Tensor]:
    """The k best paths, (B, k, T), and their scores, (B, k)."""
    batch_size, num_tokens, num_tags = scores.emissions.shape
    chain = _arrays(scores)
    paths = np.zeros((batch_size, k, num_tokens), np.int64)
    path_scores = np.zeros((batch_size, k), chain[0].dtype)
    rows = best_rows if k == 1 else k_best_rows
    for_row_ranges(rows, _array(lengths), k * num_tags**2, *chain, paths, path_scores)
    return torch.from_numpy(paths), torch.from_numpy(path_scores)


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
    return torch.from_numpy(_forward(_arrays(scores), lengths, tags, width))


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
        chain = _arrays(scores)
        gradients: List[np.ndarray] = []
        if width == 1:
            values, gradients = _gradients(chain, lengths, tags, _ones(chain))
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
            _, arrays = _gradients(_arrays(scores), ctx.lengths, ctx.tags, _array(weights))
            gradients = tuple(map(torch.from_numpy, arrays))
        return (None, None, None, None, *gradients)


def _forward(
    chain: List[np.ndarray], lengths: torch.Tensor, tags: Optional[torch.Tensor], width: int
) -> np.ndarray:
    num_tags = chain[0].shape[2]
    values = np.zeros((len(chain[0]), width), chain[0].dtype)
    tag_array = _tag_array(tags, len(values))
    for_row_ranges(forward_rows, _array(lengths), num_tags**2, *chain, tag_array, values)
    return values


def _gradients(
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
        _array(lengths),
        3 * emissions.shape[2] ** 2,
        *chain,
        _tag_array(tags, len(values)),
        values,
        weights,
        by_emissions,
    )
    return values, [by_emissions, *(sum(parts).astype(values.dtype) for parts in zip(*by_others))]


def _arrays(scores: Tuple[torch.Tensor, ...]) -> List[np.ndarray]:
    return [_array(tensor) for tensor in scores]


def _array(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().contiguous().numpy()


def _ones(chain: List[np.ndarray]) -> np.ndarray:
    return np.ones((len(chain[0]), 1), chain[0].dtype)


def _tag_array(tags: Optional[torch.Tensor], batch_size: int) -> np.ndarray:
    return np.zeros((batch_size, 0), np.int64) if tags is None else _array(tags)
