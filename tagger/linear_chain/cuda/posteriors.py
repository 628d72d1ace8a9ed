"""What is known of each token once the whole sequence is seen.

All of it is made of what arrives at each tag from the tokens before, and from those behind. Kernels
compute the two, and differentiate them.
"""

from typing import Any, Optional, Tuple

import torch
from torch.nn.functional import pad

from tagger.linear_chain import reference
from tagger.linear_chain.autograd import ReferenceDerivatives, gradients_of
from tagger.linear_chain.chain_scores import ChainScores, real_tokens
from tagger.linear_chain.cuda.launches import fits, launch_adjoint, launch_forward
from tagger.linear_chain.reference import log_ratio, logsumexp, normalized_exp, restricted
from tagger.linear_chain.tracing import not_traced


@not_traced
def forward_scores(scores: ChainScores, lengths: torch.Tensor) -> torch.Tensor:
    """Log-sums of prefixes, (B, T, K)."""

    def specification(chain: ChainScores) -> torch.Tensor:
        return reference.forward_scores(chain, lengths)

    def kernel(chain: ChainScores) -> torch.Tensor:
        arrivals, log_normalizers, _ = _arrivals_and_normalizers(chain, lengths, False)
        # (B, T): the log-sums of all prefixes up to the token before
        before = pad(log_normalizers[:, :-1].cumsum(1), (1, 0))
        return arrivals + chain.emissions + before.unsqueeze(2)

    if not fits(scores):
        return specification(scores)
    return ReferenceDerivatives.apply(kernel, specification, *scores)


@not_traced
def backward_scores(scores: ChainScores, lengths: torch.Tensor) -> torch.Tensor:
    """Log-sums of suffixes, (B, T, K)."""

    def specification(chain: ChainScores) -> torch.Tensor:
        return reference.backward_scores(chain, lengths)

    def kernel(chain: ChainScores) -> torch.Tensor:
        arrivals, log_normalizers, _ = _arrivals_and_normalizers(chain, lengths, True)
        # (B, T): the log-sums of all suffixes from the token behind
        behind = pad(log_normalizers[:, 1:].flip(1).cumsum(1).flip(1), (0, 1))
        return arrivals + behind.unsqueeze(2)

    if not fits(scores):
        return specification(scores)
    return ReferenceDerivatives.apply(kernel, specification, *scores)


@not_traced
def tag_marginals(scores: ChainScores, lengths: torch.Tensor) -> torch.Tensor:
    """p(y_t = k | x), (B, T, K)."""
    if not fits(scores):
        return reference.tag_marginals(scores, lengths)
    return _or_zero(normalized_exp(_joint(scores, lengths), dim=2), lengths)


@not_traced
def transition_marginals(scores: ChainScores, lengths: torch.Tensor) -> torch.Tensor:
    """p(y_t = i, y_{t+1} = j | x), (B, T - 1, K, K)."""
    if not fits(scores):
        return reference.transition_marginals(scores, lengths)
    emissions = _or_zero(scores.emissions, lengths)
    before = _arrivals(scores, lengths, from_the_end=False) + emissions
    behind = _arrivals(scores, lengths, from_the_end=True) + emissions
    # (B, T - 1, K, K)
    joint = before[:, :-1].unsqueeze(3) + scores.transitions + behind[:, 1:].unsqueeze(2)
    return _or_zero(normalized_exp(joint.flatten(2), dim=2).view_as(joint), lengths - 1)


@not_traced
def step_log_marginals(
    scores: ChainScores, labels: torch.Tensor, lengths: torch.Tensor
) -> torch.Tensor:
    """The log-probability of each token's label, (B, T)."""
    if not fits(scores):
        return reference.step_log_marginals(scores, labels, lengths)
    return _or_zero(_log_shares(_joint(scores, lengths), labels, lengths), lengths)


@not_traced
def step_log_conditionals(
    scores: ChainScores, labels: torch.Tensor, lengths: torch.Tensor
) -> torch.Tensor:
    """The log-probability of each token's label given the labels before it, (B, T)."""
    if not fits(scores):
        return reference.step_log_conditionals(scores, labels, lengths)
    if labels.dim() == 3:
        arriving = _arrivals(restricted(scores, labels), lengths, from_the_end=False)
    else:
        arriving = _arrivals_of_path(scores, _or_zero(labels, lengths))
    behind = _arrivals(scores, lengths, from_the_end=True) + _or_zero(scores.emissions, lengths)
    steps = _log_shares(arriving + behind, labels, lengths)
    # Nothing is possible after what is not.
    steps = torch.where(steps.cumsum(1) == -torch.inf, torch.full_like(steps, -torch.inf), steps)
    return _or_zero(steps, lengths)


def _arrivals_of_path(scores: ChainScores, tags: torch.Tensor) -> torch.Tensor:
    """What each tag is sent by the tag before it on a path, (B, T, K)."""
    start = scores.start.expand(len(tags), 1, -1)
    return torch.cat([start, scores.transitions[tags[:, :-1]]], dim=1)


def _joint(scores: ChainScores, lengths: torch.Tensor) -> torch.Tensor:
    """The log-sum of all paths through each tag, (B, T, K), up to a constant for each token."""
    before = _arrivals(scores, lengths, from_the_end=False)
    behind = _arrivals(scores, lengths, from_the_end=True)
    return before + _or_zero(scores.emissions, lengths) + behind


def _log_shares(joint: torch.Tensor, labels: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """The log of what share the tags of a path, or sets of tags, have in all of `joint`, (B, T)."""
    if labels.dim() == 2:
        share = joint.gather(2, _or_zero(labels, lengths).unsqueeze(2)).squeeze(2)
    else:
        impossible = torch.full_like(joint, -torch.inf)
        share = logsumexp(torch.where(labels, joint, impossible), dim=2)
    return log_ratio(share, logsumexp(joint, dim=2))


def _or_zero(rows: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """`rows`, (B, T, ...), with zeros from each one's length on."""
    is_real = real_tokens(lengths, rows.size(1))
    is_real = is_real.view(*is_real.shape, *[1] * (rows.dim() - 2))
    return torch.where(is_real, rows, torch.zeros_like(rows))


def _arrivals(scores: ChainScores, lengths: torch.Tensor, from_the_end: bool) -> torch.Tensor:
    """Log-sums of what arrives at each tag, (B, T, K), up to a constant for each token.

    Derivatives are right for what does not depend on the constants.
    """
    return _Arrivals.apply(lengths, from_the_end, *scores)


class _Arrivals(torch.autograd.Function):
    """What arrives at each tag, with derivatives."""

    @staticmethod
    def forward(
        ctx: Any, lengths: torch.Tensor, from_the_end: bool, *scores: torch.Tensor
    ) -> torch.Tensor:
        ctx.lengths, ctx.from_the_end = lengths, from_the_end
        arrivals, _, messages = _arrivals_and_normalizers(
            ChainScores(*scores), lengths, from_the_end
        )
        ctx.save_for_backward(*scores, messages)
        return arrivals

    @staticmethod
    def backward(ctx: Any, weights: torch.Tensor) -> Tuple[Optional[torch.Tensor], ...]:
        *tensors, messages = ctx.saved_tensors
        scores, lengths = ChainScores(*tensors), ctx.lengths
        if torch.is_grad_enabled():
            specification = _suffixes if ctx.from_the_end else _prefixes
            gradients = gradients_of(lambda s: specification(s, lengths), scores, weights)
            return (None, None, *gradients)
        by_emissions, by_transitions, by_first = launch_adjoint(
            scores, lengths, messages, weights, from_the_end=ctx.from_the_end
        )
        by_ends = (None, by_first) if ctx.from_the_end else (by_first, None)
        return (None, None, by_emissions, by_transitions, *by_ends)


def _prefixes(scores: ChainScores, lengths: torch.Tensor) -> torch.Tensor:
    """What `_arrivals` computes from the start, with constants of its own."""
    return reference.forward_scores(scores, lengths) - scores.emissions


def _suffixes(scores: ChainScores, lengths: torch.Tensor) -> torch.Tensor:
    """What `_arrivals` computes from the end, with constants of its own."""
    return reference.backward_scores(scores, lengths)


def _arrivals_and_normalizers(
    scores: ChainScores, lengths: torch.Tensor, from_the_end: bool
) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Arrivals, (B, T, K), log normalisers, (B, T), and messages, (B, T, K), not in the padding."""
    messages = torch.empty_like(scores.emissions, memory_format=torch.contiguous_format)
    arrivals = messages.new_zeros(messages.shape)
    log_normalizers = launch_forward(
        scores, lengths, None, messages, arrivals, from_the_end=from_the_end
    )
    return arrivals, log_normalizers, messages
