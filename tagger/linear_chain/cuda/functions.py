"""The functions of `reference`, computed by Triton kernels or composed of what they compute.

Marginals and conditionals are composed of relative arrivals. The k > 1 best paths, chains of more than
128 tags, second derivatives, and the derivatives of forward and of backward scores come from the
reference.

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
from tagger.linear_chain.chain_scores import ChainScores, in_float64_on_cpu, restricted
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
from tagger.linear_chain.log_space import log_ratio, logsumexp, normalized_exp, total_of
from tagger.linear_chain.padding import real_tokens, without_padding
from tagger.linear_chain.reference import step_scores, weighed
from tagger.linear_chain.span_search import spans_above

__all__ = ["spans_above", "step_scores"]


def log_partition(scores: ChainScores, lengths: torch.Tensor) -> torch.Tensor:
    """As `reference.log_partition`."""
    return differentiable(partial(_normalizers, True), reference.log_partition, scores, lengths)


def step_log_normalizers(scores: ChainScores, lengths: torch.Tensor) -> torch.Tensor:
    """As `reference.step_log_normalizers`."""
    primitive = partial(_normalizers, False)
    return differentiable(primitive, reference.step_log_normalizers, scores, lengths)


def log_likelihood(
    scores: ChainScores, gold_tags: torch.Tensor, lengths: torch.Tensor
) -> torch.Tensor:
    """As `reference.log_likelihood`."""
    if gold_tags.dim() == 3:
        return total_of(step_log_likelihoods(scores, gold_tags, lengths))
    primitive = partial(_steps, True)
    return differentiable(primitive, reference.log_likelihood, scores, gold_tags, lengths)


def step_log_likelihoods(
    scores: ChainScores,
    gold_tags: torch.Tensor,
    lengths: torch.Tensor,
    weights: Optional[torch.Tensor] = None,
) -> torch.Tensor:
    """As `reference.step_log_likelihoods`."""
    if gold_tags.dim() == 2:
        primitive, specification = partial(_steps, False), reference.step_log_likelihoods
        steps = differentiable(primitive, specification, scores, gold_tags, lengths)
        return weighed(steps, lengths, weights)
    exact = in_float64_on_cpu(scores)
    allowed = step_log_normalizers(restricted(exact, gold_tags), lengths)
    steps = log_ratio(allowed, step_log_normalizers(exact, lengths))
    return weighed(steps.to(scores.emissions.dtype), lengths, weights)


def step_log_conditionals(
    scores: ChainScores,
    gold_tags: torch.Tensor,
    lengths: torch.Tensor,
    weights: Optional[torch.Tensor] = None,
) -> torch.Tensor:
    """As `reference.step_log_conditionals`."""
    mask = real_tokens(lengths, scores.emissions.size(1))
    if gold_tags.dim() == 3:
        arriving = _relative_arrivals(restricted(scores, gold_tags), lengths, False)
    else:
        path = without_padding(gold_tags, mask)
        # (B, T, K): what each tag receives from the tag before it on the path
        start = scores.start.expand(len(path), 1, -1)
        arriving = torch.cat([start, scores.transitions[path[:, :-1]]], dim=1)
    following = _relative_arrivals(scores, lengths, True)
    joint = arriving + (following + without_padding(scores.emissions, mask))
    steps = _log_shares(joint, gold_tags, mask)
    # No prefix is possible once one token's tag is impossible.
    impossible = torch.full_like(steps, -torch.inf)
    steps = without_padding(torch.where(steps.cumsum(1) == -torch.inf, impossible, steps), mask)
    return weighed(steps, lengths, weights)


def step_log_marginals(
    scores: ChainScores,
    gold_tags: torch.Tensor,
    lengths: torch.Tensor,
    weights: Optional[torch.Tensor] = None,
) -> torch.Tensor:
    """As `reference.step_log_marginals`."""
    joint, mask = _log_joint(scores, lengths)
    steps = without_padding(_log_shares(joint, gold_tags, mask), mask)
    return weighed(steps, lengths, weights)


def tag_marginals(scores: ChainScores, lengths: torch.Tensor) -> torch.Tensor:
    """As `reference.tag_marginals`."""
    joint, mask = _log_joint(scores, lengths)
    return without_padding(normalized_exp(joint, dim=2), mask)


def transition_marginals(scores: ChainScores, lengths: torch.Tensor) -> torch.Tensor:
    """As `reference.transition_marginals`."""
    mask = real_tokens(lengths, scores.emissions.size(1))
    emissions = without_padding(scores.emissions, mask)
    before = _relative_arrivals(scores, lengths, False) + emissions
    following = _relative_arrivals(scores, lengths, True) + emissions
    # (B, T - 1, K, K)
    joint = before[:, :-1].unsqueeze(3) + scores.transitions + following[:, 1:].unsqueeze(2)
    probabilities = normalized_exp(joint.flatten(2), dim=2).view_as(joint)
    return without_padding(probabilities, mask[:, 1:])


def forward_scores(scores: ChainScores, lengths: torch.Tensor) -> torch.Tensor:
    """As `reference.forward_scores`."""
    return differentiable(_forward_scores, reference.forward_scores, scores, lengths)


def backward_scores(scores: ChainScores, lengths: torch.Tensor) -> torch.Tensor:
    """As `reference.backward_scores`."""
    return differentiable(_backward_scores, reference.backward_scores, scores, lengths)


def k_best_decode(
    scores: ChainScores, lengths: torch.Tensor, k: int
) -> Tuple[torch.Tensor, torch.Tensor]:
    """As `reference.k_best_decode`."""
    if k > 1 or not fits(scores):
        return reference.k_best_decode(scores, lengths, k)
    scores = contiguous(scores)
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


def sample_paths(
    scores: ChainScores, lengths: torch.Tensor, uniforms: torch.Tensor
) -> torch.Tensor:
    """As `reference.sample_paths`; in float64."""
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


def _normalizers(
    is_total: bool, scores: ChainScores, lengths: torch.Tensor, with_gradients: bool
) -> Computed:
    return _steps(is_total, scores, None, lengths, with_gradients)


def _steps(
    is_total: bool,
    scores: ChainScores,
    path: Optional[torch.Tensor],
    lengths: torch.Tensor,
    with_gradients: bool,
) -> Computed:
    """Log normalisers or log-likelihoods, of each token or summed."""
    scores = _checked(scores)
    if is_total and scan.suits(scores):
        return scan.log_likelihoods(scores, lengths, path, with_gradients)
    messages = _empty_messages(scores) if with_gradients else None
    values = launch_forward(scores, lengths, path, messages)
    if is_total:
        values = values.sum(1)
    if messages is None:
        return Computed(values)
    return Computed(values, partial(_step_gradients, lengths, path), (messages, values))


def _forward_scores(scores: ChainScores, lengths: torch.Tensor, with_gradients: bool) -> Computed:
    relative, log_normalizers, _ = _arrivals(scores, lengths, False)
    # (B, T): the log-sums of all prefixes up to the token before
    others = pad(log_normalizers[:, :-1].cumsum(1), (1, 0))
    return Computed(relative + others.unsqueeze(2) + scores.emissions.detach())


def _backward_scores(scores: ChainScores, lengths: torch.Tensor, with_gradients: bool) -> Computed:
    relative, log_normalizers, _ = _arrivals(scores, lengths, True)
    # (B, T): the log-sums of all suffixes after the token
    others = pad(log_normalizers[:, 1:].flip(1).cumsum(1).flip(1), (0, 1))
    return Computed(with_lost_suffixes(relative + others.unsqueeze(2), scores, lengths))


def _relative_arrivals(
    scores: ChainScores, lengths: torch.Tensor, from_the_end: bool
) -> torch.Tensor:
    """As `reference.relative_arrivals`.

    Gradients are right if `weights` sum to 0 over the tags of each token.
    """
    specification = reference.relative_arrivals
    return differentiable(_arrivals_with_gradients, specification, scores, lengths, from_the_end)


def _arrivals_with_gradients(
    scores: ChainScores, lengths: torch.Tensor, from_the_end: bool, with_gradients: bool
) -> Computed:
    relative, _, messages = _arrivals(scores, lengths, from_the_end)
    return Computed(relative, partial(_arrival_gradients, lengths, from_the_end), (messages,))


def _arrivals(
    scores: ChainScores, lengths: torch.Tensor, from_the_end: bool
) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Log-sums of what leads to each tag without its emission, or `from_the_end` of what follows it.

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


def _log_joint(scores: ChainScores, lengths: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
    """The log-sum of all paths through each tag, up to a constant for each token; and the mask."""
    mask = real_tokens(lengths, scores.emissions.size(1))
    before = _relative_arrivals(scores, lengths, False)
    following = _relative_arrivals(scores, lengths, True)
    return before + without_padding(scores.emissions, mask) + following, mask


def _log_shares(joint: torch.Tensor, gold_tags: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """The log of the gold tags' share in all tags of `joint`, (B, T)."""
    if gold_tags.dim() == 2:
        share = joint.gather(2, without_padding(gold_tags, mask).unsqueeze(2)).squeeze(2)
    else:
        impossible = torch.full_like(joint, -torch.inf)
        share = logsumexp(torch.where(gold_tags, joint, impossible), dim=2)
    return log_ratio(share, logsumexp(joint, dim=2))


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
