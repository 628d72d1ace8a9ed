"""The functions of `tagger.linear_chain.reference`, computed by Triton kernels on CUDA tensors.

K-best decoding, sampling, forward and backward scores, step conditionals and step marginals, second
derivatives, the derivatives of marginals, and chains of more than 128 tags go through the reference.

Launch parameters: as many warps as leave each thread 32 registers for the transitions, the adjoint
twice more for their transpose and their derivatives. Compiled for sm_90 in float32, the forward kernel
and the adjoint take 64 and 211 registers at 32 tags (1 warp), 71 and 254 at 64 (4 warps), 83 and 128
at 128 (16 warps; 256 bytes spill). None of this was timed. Tags are padded to a power of two, so that
33 cost as much as 64.
"""

from typing import Any, Dict, Optional, Tuple

import torch

from tagger.linear_chain import reference
from tagger.linear_chain.autograd import (
    ReferenceDerivatives,
    ScoreFunction,
    gradients_of,
    not_traced,
)
from tagger.linear_chain.chain_scores import ChainScores
from tagger.linear_chain.cuda.language import triton
from tagger.linear_chain.cuda.max_sum import best_path_kernel
from tagger.linear_chain.cuda.sum_product import DROP, KEEP, SUM, adjoint_kernel, forward_kernel
from tagger.linear_chain.reference import (
    backward_scores,
    forward_scores,
    sample_paths,
    step_log_conditionals,
    step_log_marginals,
    step_scores,
)

__all__ = [
    "backward_scores",
    "forward_scores",
    "k_best_decode",
    "log_likelihood",
    "log_partition",
    "sample_paths",
    "step_log_conditionals",
    "step_log_likelihoods",
    "step_log_marginals",
    "step_log_normalizers",
    "step_scores",
    "tag_marginals",
    "transition_marginals",
]

# Beyond it the transitions and their derivatives do not fit the registers of a multiprocessor.
_MAX_TAGS = 128
# Bounds the scratch memory: each program sums derivatives by the transitions in matrices of its own.
_MAX_PROGRAMS = 4096
# What underflows, 1e-38 and 2e-308, is beyond the last digit of a sum that is not smaller than this.
_TINY = {torch.float32: 1e-28, torch.float64: 1e-290}


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
def tag_marginals(scores: ChainScores, lengths: torch.Tensor) -> torch.Tensor:
    """p(y_t = k | x), (B, T, K)."""

    def specification(chain: ChainScores) -> torch.Tensor:
        return reference.tag_marginals(chain, lengths)

    def kernel(chain: ChainScores) -> torch.Tensor:
        return _marginals(chain, lengths, DROP)[0]

    if not _fits(scores):
        return specification(scores)
    return ReferenceDerivatives.apply(kernel, specification, *scores)


@not_traced
def transition_marginals(scores: ChainScores, lengths: torch.Tensor) -> torch.Tensor:
    """p(y_t = i, y_{t+1} = j | x), (B, T - 1, K, K)."""

    def specification(chain: ChainScores) -> torch.Tensor:
        return reference.transition_marginals(chain, lengths)

    def kernel(chain: ChainScores) -> torch.Tensor:
        return _marginals(chain, lengths, KEEP)[1]

    if not _fits(scores):
        return specification(scores)
    return ReferenceDerivatives.apply(kernel, specification, *scores)


@not_traced
def k_best_decode(
    scores: ChainScores, lengths: torch.Tensor, k: int
) -> Tuple[torch.Tensor, torch.Tensor]:
    """The k best paths, (B, k, T), and their scores, (B, k)."""
    if k > 1 or not _fits(scores):
        return reference.k_best_decode(scores, lengths, k)
    scores = _contiguous(scores)
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
            **_launch_options(emissions),
        )
    return paths, path_scores


@not_traced
def _values(
    specification: ScoreFunction,
    scores: ChainScores,
    lengths: torch.Tensor,
    tags: Optional[torch.Tensor] = None,
    is_total: bool = False,
) -> torch.Tensor:
    """Log normalisers, or log-likelihoods of `tags`: (B, T), or their sum, (B,)."""
    if not _fits(scores):
        return specification(scores)
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in scores):
        return _Values.apply(specification, lengths, tags, is_total, *scores)
    values = _forward(scores, lengths, tags)
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
        values = _forward(ChainScores(*scores), lengths, tags, messages)
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
            gradients = _gradients(ChainScores(*scores), ctx.lengths, ctx.tags, messages, upstream)
        return (None, None, None, None, *gradients)


def _forward(
    scores: ChainScores,
    lengths: torch.Tensor,
    tags: Optional[torch.Tensor],
    messages: Optional[torch.Tensor] = None,
) -> torch.Tensor:
    """Log normalisers, or log-likelihoods of `tags`, (B, T); writes `messages`, (B, T, K)."""
    scores = _contiguous(scores)
    emissions = scores.emissions
    batch_size, num_tokens, num_tags = emissions.shape
    values = emissions.new_zeros(batch_size, num_tokens)
    with torch.cuda.device_of(emissions):
        forward_kernel[(batch_size,)](
            *scores,
            lengths,
            lengths if tags is None else tags.contiguous(),
            values,
            values if messages is None else messages,
            num_tokens,
            num_tags,
            TINY=_TINY[emissions.dtype],
            HAS_TAGS=tags is not None,
            HAS_MESSAGES=messages is not None,
            **_launch_options(emissions),
        )
    return values


def _gradients(
    scores: ChainScores,
    lengths: torch.Tensor,
    tags: Optional[torch.Tensor],
    messages: torch.Tensor,
    upstream: torch.Tensor,
) -> ChainScores:
    """The derivatives of the sum of `upstream` times log z_t, less the path's score."""
    num_programs = min(len(messages), _MAX_PROGRAMS)
    pairs = messages.new_zeros(num_programs, 2, *scores.transitions.shape)
    by_emissions = _adjoint(scores, lengths, tags, messages, upstream, pairs, SUM)
    # (B, K): zero where a row has no token
    rows = torch.arange(len(lengths), device=lengths.device)
    by_last_emissions = by_emissions[rows, (lengths - 1).clamp(min=0)]
    return ChainScores(
        by_emissions, pairs.sum((0, 1)), by_emissions[:, 0].sum(0), by_last_emissions.sum(0)
    )


def _marginals(
    scores: ChainScores, lengths: torch.Tensor, pairs_mode: Any
) -> Tuple[torch.Tensor, torch.Tensor]:
    """Tag marginals, and if `pairs_mode` is `KEEP`, transition marginals."""
    messages = torch.empty_like(scores.emissions, memory_format=torch.contiguous_format)
    values = _forward(scores, lengths, None, messages)
    batch_size, num_tokens, num_tags = messages.shape
    num_pairs = num_tokens - 1 if pairs_mode == KEEP else 0
    pairs = messages.new_zeros(batch_size, num_pairs, num_tags, num_tags)
    is_possible = values.sum(1, keepdim=True) != -torch.inf
    upstream = is_possible.to(messages.dtype).expand_as(values)
    return _adjoint(scores, lengths, None, messages, upstream, pairs, pairs_mode), pairs


def _adjoint(
    scores: ChainScores,
    lengths: torch.Tensor,
    tags: Optional[torch.Tensor],
    messages: torch.Tensor,
    upstream: torch.Tensor,
    pairs: torch.Tensor,
    pairs_mode: Any,
) -> torch.Tensor:
    """The derivatives by the emissions, (B, T, K); writes `pairs`, see `adjoint_kernel`."""
    batch_size, num_tokens, num_tags = messages.shape
    by_emissions = torch.empty_like(messages)
    transitions = scores.transitions.detach().contiguous()
    with torch.cuda.device_of(messages):
        adjoint_kernel[(min(batch_size, _MAX_PROGRAMS),)](
            messages,
            transitions,
            transitions.t().contiguous(),
            scores.end.detach().contiguous(),
            lengths,
            lengths if tags is None else tags.contiguous(),
            upstream.contiguous(),
            by_emissions,
            pairs,
            batch_size,
            num_tokens,
            num_tags,
            TINY=_TINY[messages.dtype],
            HAS_TAGS=tags is not None,
            PAIRS=pairs_mode,
            **_launch_options(messages),
        )
    return by_emissions


def _fits(scores: ChainScores) -> bool:
    """Whether the kernels can take it."""
    return scores.emissions.numel() > 0 and len(scores.start) <= _MAX_TAGS


def _contiguous(scores: ChainScores) -> ChainScores:
    return ChainScores(*(tensor.detach().contiguous() for tensor in scores))


def _launch_options(emissions: torch.Tensor) -> Dict[str, int]:
    """The tile's size, and as many warps as leave a thread 32 registers of the transitions."""
    size = triton.next_power_of_2(emissions.size(2))
    num_warps = size**2 * emissions.element_size() // 4 // (32 * 32)
    return {"TAGS": size, "num_warps": min(max(num_warps, 1), 16)}
