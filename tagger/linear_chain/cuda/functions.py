"""The functions of `reference`, computed by Triton kernels or from their results.

Posteriors are computed from relative messages. The reference computes the k > 1 best paths, chains of
more than 128 tags, second derivatives, and the derivatives of messages.

Letters: `B` rows (sequences), `T` tokens, `K` tags.
"""

from functools import partial
from typing import Optional, Tuple

import torch
from torch.nn.functional import pad

from tagger.linear_chain import reference
from tagger.linear_chain.autograd import (
    CannotComputeError,
    Computed,
    Gradients,
    Tensors,
    differentiable,
    with_lost_suffixes,
)
from tagger.linear_chain.chain_scores import ChainScores, restricted
from tagger.linear_chain.cuda.language import triton
from tagger.linear_chain.cuda.launches import (
    contiguous,
    fits,
    launch_adjoint,
    launch_forward,
    launch_options,
)
from tagger.linear_chain.cuda.paths import best_path_kernel, sample_kernel
from tagger.linear_chain.log_space import log_ratio
from tagger.linear_chain.reference import weighed
from tagger.linear_chain.span_search import spans_above

__all__ = ["spans_above"]


def log_steps(
    scores: ChainScores,
    gold_tags: Optional[torch.Tensor],
    lengths: torch.Tensor,
    weights: Optional[torch.Tensor] = None,
    is_total: bool = False,
) -> torch.Tensor:
    is_total = is_total and weights is None
    if gold_tags is not None and gold_tags.dim() == 3:
        part = log_steps(restricted(scores, gold_tags), None, lengths, None, is_total)
        steps = log_ratio(part, log_steps(scores, None, lengths, None, is_total))
    else:
        arguments = (gold_tags, lengths, None, is_total)
        steps = differentiable(_steps, reference.log_steps, scores, *arguments)
    return weighed(steps, lengths, weights)


def log_posteriors(
    scores: ChainScores,
    gold_tags: torch.Tensor,
    lengths: torch.Tensor,
    weights: Optional[torch.Tensor],
    given_prefix: bool,
) -> torch.Tensor:
    arguments = (gold_tags, lengths, weights, given_prefix)
    return reference.log_posteriors(scores, *arguments, _relative_messages)


def tag_marginals(scores: ChainScores, lengths: torch.Tensor) -> torch.Tensor:
    return reference.tag_marginals(scores, lengths, _relative_messages)


def transition_marginals(scores: ChainScores, lengths: torch.Tensor) -> torch.Tensor:
    return reference.transition_marginals(scores, lengths, _relative_messages)


def messages(scores: ChainScores, lengths: torch.Tensor, from_the_end: bool) -> torch.Tensor:
    return differentiable(_messages, reference.messages, scores, lengths, from_the_end)


def k_best_decode(
    scores: ChainScores, lengths: torch.Tensor, k: int
) -> Tuple[torch.Tensor, torch.Tensor]:
    if k > 1 or not fits(scores):
        return reference.k_best_decode(scores, lengths, k)
    scores = contiguous(scores)
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


def sample_paths(
    scores: ChainScores, lengths: torch.Tensor, uniforms: torch.Tensor
) -> torch.Tensor:
    if not fits(scores):
        return reference.sample_paths(scores, lengths, uniforms)
    scores = contiguous(ChainScores(*(tensor.double() for tensor in scores)))
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


def _steps(
    scores: ChainScores,
    path: Optional[torch.Tensor],
    lengths: torch.Tensor,
    weights: None,
    is_total: bool,
    with_gradients: bool,
) -> Computed:
    scores = _checked(scores)
    messages = _empty_messages(scores) if with_gradients else None
    values = launch_forward(scores, lengths, path, messages)
    if is_total:
        values = values.sum(1)
    if messages is None:
        return Computed(values)
    return Computed(values, partial(_step_gradients, lengths, path), (messages, values))


def _messages(
    scores: ChainScores, lengths: torch.Tensor, from_the_end: bool, with_gradients: bool
) -> Computed:
    relative, log_normalizers, _ = _launched(scores, lengths, from_the_end)
    # (B, T): the log-sums of all suffixes after the token, or of all prefixes before it
    if from_the_end:
        others = pad(log_normalizers[:, 1:].flip(1).cumsum(1).flip(1), (0, 1))
        return Computed(with_lost_suffixes(relative + others.unsqueeze(2), scores, lengths))
    others = pad(log_normalizers[:, :-1].cumsum(1), (1, 0))
    return Computed(relative + others.unsqueeze(2) + scores.emissions.detach())


def _relative_messages(
    scores: ChainScores, lengths: torch.Tensor, from_the_end: bool
) -> torch.Tensor:
    """A `MessageFunction` of `reference`."""
    specification = reference.relative_messages
    return differentiable(_relative, specification, scores, lengths, from_the_end)


def _relative(
    scores: ChainScores, lengths: torch.Tensor, from_the_end: bool, with_gradients: bool
) -> Computed:
    relative, _, messages = _launched(scores, lengths, from_the_end)
    return Computed(relative, partial(_message_gradients, lengths, from_the_end), (messages,))


def _launched(
    scores: ChainScores, lengths: torch.Tensor, from_the_end: bool
) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Log-sums of the prefixes that arrive at each tag, or `from_the_end` of the suffixes after it.

    Returns:
        The log-sums up to a constant for each token, (B, T, K), undefined in the padding; the log
        normalisers, (B, T); and the messages, (B, T, K).
    """
    scores = _checked(scores)
    messages = _empty_messages(scores)
    relative = torch.zeros_like(scores.emissions)
    log_normalizers = launch_forward(
        scores, lengths, None, messages, relative, from_the_end=from_the_end
    )
    return relative, log_normalizers, messages


def _step_gradients(
    lengths: torch.Tensor,
    gold_tags: Optional[torch.Tensor],
    scores: ChainScores,
    kept: Tensors,
    weights: torch.Tensor,
) -> Gradients:
    messages, values = kept
    # (B, T) each; totals have one weight and one value per row
    upstream, values = (
        tensor.reshape(len(messages), -1).expand(messages.shape[:2]) for tensor in (weights, values)
    )
    by_emissions, by_transitions, by_ends = launch_adjoint(
        scores, lengths, messages, upstream, values, gold_tags
    )
    return by_emissions, by_transitions, *by_ends


def _message_gradients(
    lengths: torch.Tensor,
    from_the_end: bool,
    scores: ChainScores,
    kept: Tensors,
    weights: torch.Tensor,
) -> Gradients:
    """The gradients of relative messages: those from the end do not depend on the start scores."""
    (messages,) = kept
    by_emissions, by_transitions, (by_first, _) = launch_adjoint(
        scores, lengths, messages, weights, from_the_end=from_the_end
    )
    by_ends = (None, by_first) if from_the_end else (by_first, None)
    return by_emissions, by_transitions, *by_ends


def _checked(scores: ChainScores) -> ChainScores:
    """`scores`, detached and contiguous; an error if the kernels cannot take them."""
    if not fits(scores):
        raise CannotComputeError
    return contiguous(scores)


def _empty_messages(scores: ChainScores) -> torch.Tensor:
    """(B, T, K), uninitialised; a kernel writes the real tokens."""
    return torch.empty_like(scores.emissions, memory_format=torch.contiguous_format)
