"""Log normalisers, and log-likelihoods of a path."""

from typing import Any, Optional, Tuple

import torch

from tagger.linear_chain import reference
from tagger.linear_chain.autograd import ScoreFunction, gradients_of
from tagger.linear_chain.chain_scores import ChainScores
from tagger.linear_chain.cuda.launches import fits, launch_adjoint, launch_forward
from tagger.linear_chain.tracing import not_traced


def log_partition(scores: ChainScores, lengths: torch.Tensor) -> torch.Tensor:
    """log Z, (B,)."""
    return _values(lambda s: reference.log_partition(s, lengths), scores, lengths, is_total=True)


def step_log_normalizers(scores: ChainScores, lengths: torch.Tensor) -> torch.Tensor:
    """log z_t of each token, (B, T)."""
    return _values(lambda s: reference.step_log_normalizers(s, lengths), scores, lengths)


def log_likelihood(scores: ChainScores, tags: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """The log-probability of the path `tags`, (B,)."""
    return _values(
        lambda s: reference.log_likelihood(s, tags, lengths), scores, lengths, tags, is_total=True
    )


def step_log_likelihoods(
    scores: ChainScores, tags: torch.Tensor, lengths: torch.Tensor
) -> torch.Tensor:
    """What each token adds to the log-probability of the path `tags`, (B, T)."""
    return _values(
        lambda s: reference.step_log_likelihoods(s, tags, lengths), scores, lengths, tags
    )


@not_traced
def _values(
    specification: ScoreFunction,
    scores: ChainScores,
    lengths: torch.Tensor,
    tags: Optional[torch.Tensor] = None,
    is_total: bool = False,
) -> torch.Tensor:
    """Log normalisers, or log-likelihoods of `tags`: (B, T), or their sum, (B,)."""
    if not fits(scores):
        return specification(scores)
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in scores):
        return _Values.apply(specification, lengths, tags, is_total, *scores)
    values = launch_forward(scores, lengths, tags)
    return values.sum(1) if is_total else values


class _Values(torch.autograd.Function):
    """Log normalisers or log-likelihoods with derivatives."""

    @staticmethod
    def forward(
        ctx: Any,
        specification: ScoreFunction,
        lengths: torch.Tensor,
        tags: Optional[torch.Tensor],
        is_total: bool,
        *scores: torch.Tensor,
    ) -> torch.Tensor:
        ctx.specification, ctx.lengths, ctx.tags = specification, lengths, tags
        messages = torch.empty_like(scores[0], memory_format=torch.contiguous_format)
        values = launch_forward(ChainScores(*scores), lengths, tags, messages)
        if is_total:
            values = values.sum(1)
        ctx.save_for_backward(*scores, messages, values)
        return values

    @staticmethod
    def backward(ctx: Any, weights: torch.Tensor) -> Tuple[Optional[torch.Tensor], ...]:
        *scores, messages, values = ctx.saved_tensors
        if torch.is_grad_enabled():
            gradients = gradients_of(ctx.specification, tuple(scores), weights)
        else:
            weights = torch.where(values == -torch.inf, torch.zeros_like(weights), weights)
            # (B, T)
            upstream = weights.reshape(len(messages), -1).expand(messages.shape[:2])
            upstream = upstream if ctx.tags is None else -upstream
            by_emissions, by_transitions, by_start = launch_adjoint(
                ChainScores(*scores), ctx.lengths, messages, upstream, ctx.tags
            )
            # (B, K): zero where a row has no token
            rows = torch.arange(len(messages), device=messages.device)
            by_last_emissions = by_emissions[rows, (ctx.lengths - 1).clamp(min=0)]
            gradients = (by_emissions, by_transitions, by_start, by_last_emissions.sum(0))
        return (None, None, None, None, *gradients)
