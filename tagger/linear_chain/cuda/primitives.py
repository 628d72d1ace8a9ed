"""The primitives of the GPU backend; see `tagger.linear_chain.backend` for what each returns.

Letters: `B` rows (sequences), `T` tokens, `K` tags.
"""

from functools import partial
from typing import Optional, Tuple

import torch
from torch.nn.functional import pad

from tagger.linear_chain.backend import CannotComputeError, Computed, Gradients, Tensors
from tagger.linear_chain.chain_scores import ChainScores
from tagger.linear_chain.cuda import scan
from tagger.linear_chain.cuda.language import triton
from tagger.linear_chain.cuda.launches import (
    contiguous,
    fits,
    launch_adjoint,
    launch_forward,
    launch_options,
)
from tagger.linear_chain.cuda.max_sum import best_path_kernel
from tagger.linear_chain.cuda.sampling import sample_kernel


def steps(
    scores: ChainScores,
    lengths: torch.Tensor,
    gold_tags: Optional[torch.Tensor],
    is_total: bool,
    with_gradients: bool,
) -> Computed:
    """Log normalisers or log-likelihoods, of each token or summed."""
    scores = _checked(scores)
    if is_total and scan.suits(scores):
        return scan.log_likelihoods(scores, lengths, gold_tags, with_gradients)
    messages = _empty_messages(scores) if with_gradients else None
    values = launch_forward(scores, lengths, gold_tags, messages)
    if is_total:
        values = values.sum(1)
    if messages is None:
        return Computed(values)
    return Computed(values, partial(_step_gradients, lengths, gold_tags), (messages, values))


def arrivals(
    scores: ChainScores,
    lengths: torch.Tensor,
    from_the_end: bool,
    is_relative: bool,
    with_gradients: bool,
) -> Computed:
    """Log-sums of prefixes or suffixes; if they are not relative, the reference differentiates them."""
    scores = _checked(scores)
    messages = _empty_messages(scores)
    relative = torch.zeros_like(scores.emissions)
    log_normalizers = launch_forward(
        scores, lengths, None, messages, relative, from_the_end=from_the_end
    )
    if not is_relative:
        # (B, T): the log-sums of all prefixes up to the token before, or of all suffixes after it
        if from_the_end:
            others = pad(log_normalizers[:, 1:].flip(1).cumsum(1).flip(1), (0, 1))
        else:
            others = pad(log_normalizers[:, :-1].cumsum(1), (1, 0))
        return Computed(relative + others.unsqueeze(2))
    return Computed(relative, partial(_arrival_gradients, lengths, from_the_end), (messages,))


def best_paths(
    scores: ChainScores, lengths: torch.Tensor, k: int
) -> Tuple[torch.Tensor, torch.Tensor]:
    """The best path and its score; not more paths than one."""
    if k > 1:
        raise CannotComputeError
    scores = _checked(scores)
    if scan.suits(scores):
        return scan.best_paths(scores, lengths)
    emissions = scores.emissions
    batch_size, num_tokens, num_tags = emissions.shape
    pointers = torch.empty(emissions.shape, dtype=torch.uint8, device=emissions.device)
    paths = torch.zeros(batch_size, 1, num_tokens, dtype=torch.int64, device=emissions.device)
    path_scores = emissions.new_zeros(batch_size, 1)
    with torch.cuda.device_of(emissions):
        best_path_kernel[(batch_size,)](
            *scores,
            lengths,
            pointers,
            paths,
            path_scores,
            num_tokens,
            num_tags,
            **launch_options(emissions),
        )
    return paths, path_scores


def samples(scores: ChainScores, lengths: torch.Tensor, uniforms: torch.Tensor) -> torch.Tensor:
    """Sampled paths, computed in float64."""
    scores = _checked(ChainScores(*(tensor.double() for tensor in scores)))
    messages = _empty_messages(scores)
    launch_forward(scores, lengths, messages=messages)
    paths = torch.zeros(uniforms.shape, dtype=torch.int64, device=uniforms.device)
    batch_size, num_samples, num_tokens = uniforms.shape
    with torch.cuda.device_of(messages):
        sample_kernel[(batch_size * num_samples,)](
            messages,
            scores.transitions,
            scores.end,
            lengths,
            uniforms.contiguous(),
            paths,
            num_samples,
            num_tokens,
            messages.size(2),
            TAGS=triton.next_power_of_2(messages.size(2)),
            num_warps=1,
        )
    return paths


def _step_gradients(
    lengths: torch.Tensor,
    gold_tags: Optional[torch.Tensor],
    scores: ChainScores,
    kept: Tensors,
    weights: torch.Tensor,
) -> Gradients:
    messages, values = kept
    weights = torch.where(values == -torch.inf, torch.zeros_like(weights), weights)
    # (B, T)
    upstream = weights.reshape(len(messages), -1).expand(messages.shape[:2])
    upstream = upstream if gold_tags is None else -upstream
    by_emissions, by_transitions, by_start = launch_adjoint(
        scores, lengths, messages, upstream, gold_tags
    )
    # (B, K): zero where a row has no token
    rows = torch.arange(len(messages), device=messages.device)
    by_last_emissions = by_emissions[rows, (lengths - 1).clamp(min=0)]
    return by_emissions, by_transitions, by_start, by_last_emissions.sum(0)


def _arrival_gradients(
    lengths: torch.Tensor,
    from_the_end: bool,
    scores: ChainScores,
    kept: Tensors,
    weights: torch.Tensor,
) -> Gradients:
    """The gradients of relative arrivals: those from the end do not depend on the start scores."""
    (messages,) = kept
    by_emissions, by_transitions, by_first = launch_adjoint(
        scores, lengths, messages, weights, from_the_end=from_the_end
    )
    by_ends = (None, by_first) if from_the_end else (by_first, None)
    return by_emissions, by_transitions, *by_ends


def _checked(scores: ChainScores) -> ChainScores:
    """`scores` without a graph and contiguous, if the kernels can take them."""
    if not fits(scores):
        raise CannotComputeError
    return contiguous(scores)


def _empty_messages(scores: ChainScores) -> torch.Tensor:
    """(B, T, K), which a kernel writes at real tokens."""
    return torch.empty_like(scores.emissions, memory_format=torch.contiguous_format)
