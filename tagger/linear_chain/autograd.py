"""Makes the results of kernels differentiable.

Letters: `B` rows (sequences), `T` tokens, `K` tags.
"""

from typing import Any, Callable, NamedTuple, Optional, Tuple

import torch

from tagger.linear_chain.chain_scores import ChainScores, in_float64_on_cpu
from tagger.linear_chain.log_space import logsumexp
from tagger.linear_chain.padding import last_tokens, real_tokens, without_padding

Tensors = Tuple[torch.Tensor, ...]
#: Gradients with respect to the four scores; `None` for scores that have or need no gradient.
Gradients = Tuple[Optional[torch.Tensor], ...]


class CannotComputeError(Exception):
    """Raised by a primitive to fall back to the reference."""


class Computed(NamedTuple):
    """The result of a primitive, and how to differentiate it.

    In the backward pass, `gradients(scores, kept, weights)` differentiates the sum of `weights` times
    `values` with respect to the four scores; without it, the reference does. Put large tensors into
    `kept`, not into a closure: autograd frees them after the backward pass.
    """

    values: torch.Tensor
    gradients: Optional[Callable[[ChainScores, Tensors, torch.Tensor], Gradients]] = None
    kept: Tensors = ()


def differentiable(
    primitive: Callable[..., Computed],
    specification: Callable[..., torch.Tensor],
    scores: ChainScores,
    *arguments: Any,
) -> torch.Tensor:
    """The values of a primitive, with derivatives if the scores require them.

    The primitive is called with the scores, `arguments`, and whether `gradients` will be needed, so it
    can compute them in advance, or skip work that only they need. It builds no graph and ignores the
    padding. The specification is the corresponding function of `reference`, without that last argument.
    It is used if the primitive raises `CannotComputeError`, and for second derivatives.
    """
    with_gradients = require_gradients(scores)
    try:
        computed = primitive(scores, *arguments, with_gradients)
    except CannotComputeError:
        return specification(scores, *arguments)
    if not with_gradients:
        return computed.values
    attached: torch.Tensor = _Attached.apply(  # type: ignore[no-untyped-call]
        computed, specification, arguments, *scores
    )
    return attached


def require_gradients(scores: ChainScores) -> bool:
    """Whether a result has to be differentiable."""
    emissions, transitions, start, end = scores
    return torch.is_grad_enabled() and (
        emissions.requires_grad
        or transitions.requires_grad
        or start.requires_grad
        or end.requires_grad
    )


class _Attached(torch.autograd.Function):
    """Puts values that are already computed into PyTorch's graph."""

    @staticmethod
    def forward(
        ctx: Any,
        computed: Computed,
        specification: Callable[..., torch.Tensor],
        arguments: Tuple[Any, ...],
        *scores: torch.Tensor,
    ) -> torch.Tensor:
        ctx.specification, ctx.arguments = specification, arguments
        ctx.gradients = computed.gradients
        ctx.save_for_backward(*scores, *computed.kept)
        return computed.values

    @staticmethod
    def backward(ctx: Any, weights: torch.Tensor) -> Gradients:
        saved = ctx.saved_tensors
        scores, kept = ChainScores(*saved[:4]), saved[4:]
        if ctx.gradients is None or torch.is_grad_enabled():
            found = _reference_gradients(ctx.specification, ctx.arguments, scores, weights)
        else:
            found = ctx.gradients(scores, kept, weights)
        return (None, None, None, *found)


def _reference_gradients(
    specification: Callable[..., torch.Tensor],
    arguments: Tuple[Any, ...],
    scores: ChainScores,
    weights: torch.Tensor,
) -> Gradients:
    """The gradients of a specification, differentiable again where gradients are enabled."""
    with torch.enable_grad():
        # Views, because two arguments may be the same tensor.
        inputs = ChainScores(*(tensor.view_as(tensor) for tensor in scores))
        values = specification(in_float64_on_cpu(inputs), *arguments).to(weights.dtype)
    differentiated = [tensor for tensor in inputs if tensor.requires_grad]
    gradients = iter(
        torch.autograd.grad(
            values, differentiated, weights, create_graph=torch.is_grad_enabled(), allow_unused=True
        )
    )
    return tuple(next(gradients) if tensor.requires_grad else None for tensor in inputs)


def with_lost_suffixes(
    messages: torch.Tensor, scores: ChainScores, lengths: torch.Tensor
) -> torch.Tensor:
    """The log-sums of suffixes, (B, T, K), including those that underflowed in a kernel.

    Kernels may lose the suffixes of a tag if its emission is -inf, because no path needs them. The
    recursion computes them from the next token.
    """
    mask = real_tokens(lengths, messages.size(1))
    emissions = without_padding(scores.emissions.detach(), mask)
    is_lost = (messages == -torch.inf) & (emissions == -torch.inf)
    if not bool(is_lost.any()):
        return messages
    exact = ChainScores(*(tensor.detach().double() for tensor in scores))
    following = (messages + emissions.double())[:, 1:].unsqueeze(2)
    # (B, T, K)
    leaving = torch.cat(
        [logsumexp(exact.transitions + following, dim=3), exact.emissions[:, :1]], dim=1
    )
    leaving = torch.where(last_tokens(mask).unsqueeze(2), exact.end, leaving)
    return torch.where(is_lost, leaving.to(messages.dtype), messages)
