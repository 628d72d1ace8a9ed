"""What is known of each token once the whole sequence is seen."""

from typing import Any, List, Optional, Tuple

import numpy as np
import torch

from tagger.kernels.compilation import for_row_ranges
from tagger.linear_chain import reference
from tagger.linear_chain.autograd import (
    ReferenceDerivatives,
    ScoreFunction,
    gradients_of,
)
from tagger.linear_chain.chain_scores import ChainScores, real_tokens
from tagger.linear_chain.cpu.arrays import array, arrays, gradients_by_scores, ones, tag_array
from tagger.linear_chain.cpu.kernels.conditionals import arrival_rows, conditional_rows
from tagger.linear_chain.cpu.kernels.marginals import (
    log_marginal_rows,
    marginal_gradient_rows,
    marginal_rows,
)
from tagger.linear_chain.cpu.kernels.messages import TINY
from tagger.linear_chain.cpu.kernels.sum_product import transition_marginal_rows
from tagger.linear_chain.cpu.normalizers import value_and_gradients
from tagger.linear_chain.tracing import not_traced


@not_traced
def forward_scores(scores: ChainScores, lengths: torch.Tensor) -> torch.Tensor:
    """Log-sums of prefixes, (B, T, K)."""

    def kernel(scores: ChainScores) -> torch.Tensor:
        return _arrivals(scores, lengths, from_the_end=False) + scores.emissions

    return ReferenceDerivatives.apply(
        kernel, lambda s: reference.forward_scores(s, lengths), *scores
    )


@not_traced
def backward_scores(scores: ChainScores, lengths: torch.Tensor) -> torch.Tensor:
    """Log-sums of suffixes, (B, T, K)."""
    return ReferenceDerivatives.apply(
        lambda s: _arrivals(s, lengths, from_the_end=True),
        lambda s: reference.backward_scores(s, lengths),
        *scores,
    )


@not_traced
def tag_marginals(scores: ChainScores, lengths: torch.Tensor) -> torch.Tensor:
    """p(y_t = k | x), (B, T, K)."""

    def otherwise(scores: ChainScores) -> torch.Tensor:
        chain = arrays(scores)
        return torch.from_numpy(value_and_gradients(chain, lengths, None, ones(chain))[1][0])

    return _Marginals.apply(
        lambda s: reference.tag_marginals(s, lengths), otherwise, lengths, None, *scores
    )


@not_traced
def step_log_marginals(
    scores: ChainScores, labels: torch.Tensor, lengths: torch.Tensor
) -> torch.Tensor:
    """The log-probability of each token's label, (B, T)."""

    def specification(scores: ChainScores) -> torch.Tensor:
        return reference.step_log_marginals(scores, labels, lengths)

    if labels.dim() == 2:
        return _Marginals.apply(specification, specification, lengths, labels, *scores)
    marginals = tag_marginals(ChainScores(*(tensor.double() for tensor in scores)), lengths)
    is_real = real_tokens(lengths, labels.size(1))
    shares = torch.where(labels, marginals, torch.zeros_like(marginals)).sum(2)
    if bool((shares[is_real] < TINY).any()):
        return specification(scores)
    return torch.where(is_real, shares, torch.ones_like(shares)).log().to(scores.emissions.dtype)


@not_traced
def step_log_conditionals(
    scores: ChainScores, labels: torch.Tensor, lengths: torch.Tensor
) -> torch.Tensor:
    """The log-probability of each token's label given the labels before it, (B, T)."""

    def specification(scores: ChainScores) -> torch.Tensor:
        return reference.step_log_conditionals(scores, labels, lengths)

    if labels.dim() == 3:
        return specification(scores)
    return _Conditionals.apply(specification, lengths, labels, *scores)


@not_traced
def transition_marginals(scores: ChainScores, lengths: torch.Tensor) -> torch.Tensor:
    """p(y_t = i, y_{t+1} = j | x), (B, T - 1, K, K)."""

    def kernel(scores: ChainScores) -> torch.Tensor:
        chain = arrays(scores)
        batch_size, num_tokens, num_tags = chain[0].shape
        shape = (batch_size, max(num_tokens - 1, 0), num_tags, num_tags)
        marginals = np.zeros(shape, chain[0].dtype)
        for_row_ranges(transition_marginal_rows, array(lengths), 4 * num_tags**2, *chain, marginals)
        return torch.from_numpy(marginals)

    return ReferenceDerivatives.apply(
        kernel, lambda s: reference.transition_marginals(s, lengths), *scores
    )


class _Marginals(torch.autograd.Function):
    """Tag marginals, (B, T, K), or the logarithms of those of `tags`, (B, T), with derivatives."""

    @staticmethod
    def forward(
        ctx: Any,
        specification: ScoreFunction,
        otherwise: ScoreFunction,
        lengths: torch.Tensor,
        tags: Optional[torch.Tensor],
        *scores: torch.Tensor,
    ) -> torch.Tensor:
        """Returns what the kernels compute or, where they cannot, `otherwise(scores)`."""
        ctx.specification, ctx.lengths, ctx.tags = specification, lengths, tags
        chain = arrays(scores)
        parts = [np.zeros(chain[0].shape) for _ in range(3)]
        work = 2 * chain[0].shape[2] ** 2
        is_complete = all(for_row_ranges(marginal_rows, array(lengths), work, *chain, *parts))
        if is_complete and tags is not None:
            values = np.zeros(tags.shape, chain[0].dtype)
            messages, _, suffixes = parts
            is_complete = all(
                for_row_ranges(
                    log_marginal_rows, array(lengths), 1, array(tags), messages, suffixes, values
                )
            )
        elif is_complete:
            values = (parts[0] * parts[2]).astype(chain[0].dtype)
        ctx.save_for_backward(*scores, *(torch.from_numpy(part) for part in parts if is_complete))
        return torch.from_numpy(values) if is_complete else otherwise(ChainScores(*scores))

    @staticmethod
    def backward(ctx: Any, weights: torch.Tensor) -> Tuple[Optional[torch.Tensor], ...]:
        scores, parts = ctx.saved_tensors[:4], ctx.saved_tensors[4:]
        if torch.is_grad_enabled() or not parts:
            gradients = gradients_of(ctx.specification, scores, weights)
        else:
            by_emissions = np.zeros(scores[0].shape, array(scores[0]).dtype)
            by_others = for_row_ranges(
                marginal_gradient_rows,
                array(ctx.lengths),
                4 * scores[0].size(2) ** 2,
                array(scores[1]),
                *map(array, parts),
                tag_array(ctx.tags, len(by_emissions)),
                array(weights if ctx.tags is None else weights.unsqueeze(2)),
                by_emissions,
            )
            by_scores = gradients_by_scores(by_emissions, by_others)
            gradients = tuple(map(torch.from_numpy, by_scores))
        return (None, None, None, None, *gradients)


class _Conditionals(torch.autograd.Function):
    """log p(y_t | y_{t-1}, x) of a path, (B, T), with derivatives."""

    @staticmethod
    def forward(
        ctx: Any,
        specification: ScoreFunction,
        lengths: torch.Tensor,
        tags: torch.Tensor,
        *scores: torch.Tensor,
    ) -> torch.Tensor:
        """Returns what the kernel computes or, where it cannot, what the specification does."""
        ctx.specification, ctx.lengths, ctx.tags = specification, lengths, tags
        ctx.save_for_backward(*scores)
        values, gradients = _conditionals(scores, lengths, tags, None)
        ctx.is_complete = gradients is not None
        return torch.from_numpy(values) if ctx.is_complete else specification(ChainScores(*scores))

    @staticmethod
    def backward(ctx: Any, weights: torch.Tensor) -> Tuple[Optional[torch.Tensor], ...]:
        scores = ctx.saved_tensors
        if torch.is_grad_enabled() or not ctx.is_complete:
            gradients = gradients_of(ctx.specification, scores, weights)
        else:
            _, by_scores = _conditionals(scores, ctx.lengths, ctx.tags, weights)
            assert by_scores is not None
            gradients = tuple(map(torch.from_numpy, by_scores))
        return (None, None, None, *gradients)


def _conditionals(
    scores: Tuple[torch.Tensor, ...],
    lengths: torch.Tensor,
    tags: torch.Tensor,
    weights: Optional[torch.Tensor],
) -> Tuple[np.ndarray, Optional[List[np.ndarray]]]:
    """The values and, given `weights` (B, T), gradients; these are `None` where the kernel gives up."""
    chain = arrays(scores)
    values = np.zeros(tags.shape, chain[0].dtype)
    batch_size, _, num_tags = chain[0].shape
    by_emissions = np.zeros((0, 0, num_tags) if weights is None else chain[0].shape, values.dtype)
    outcomes = for_row_ranges(
        conditional_rows,
        array(lengths),
        (1 if weights is None else 3) * num_tags**2,
        *chain,
        array(tags),
        np.zeros((batch_size, 0), values.dtype) if weights is None else array(weights),
        values,
        by_emissions,
    )
    if not all(is_complete for is_complete, *_ in outcomes):
        return values, None
    return values, gradients_by_scores(by_emissions, [by_others for _, *by_others in outcomes])


def _arrivals(scores: ChainScores, lengths: torch.Tensor, from_the_end: bool) -> torch.Tensor:
    chain = arrays(scores)
    arrivals = np.full_like(chain[0], -np.inf)
    work = 2 * chain[0].shape[2] ** 2
    for_row_ranges(arrival_rows, array(lengths), work, *chain, from_the_end, arrivals)
    return torch.from_numpy(arrivals)
