"""How kernels, which PyTorch cannot see into, take part in its graphs."""

from typing import Any, Callable, Optional, Tuple

import torch

from tagger.linear_chain.chain_scores import ChainScores

#: A function of the scores alone, in the reference or equal to it.
ScoreFunction = Callable[[ChainScores], torch.Tensor]


class ReferenceDerivatives(torch.autograd.Function):
    """What a kernel computes, with the derivatives of the reference."""

    @staticmethod
    def forward(
        ctx: Any, kernel: ScoreFunction, specification: ScoreFunction, *scores: torch.Tensor
    ) -> torch.Tensor:
        """Returns `kernel(scores)`, which equals `specification(scores)`."""
        ctx.specification = specification
        ctx.save_for_backward(*scores)
        return kernel(ChainScores(*scores))

    @staticmethod
    def backward(ctx: Any, weights: torch.Tensor) -> Tuple[Optional[torch.Tensor], ...]:
        """Returns the derivatives by the scores, differentiable in their turn."""
        return (None, None, *gradients_of(ctx.specification, ctx.saved_tensors, weights))


def gradients_of(
    specification: ScoreFunction, scores: Tuple[torch.Tensor, ...], weights: torch.Tensor
) -> Tuple[Optional[torch.Tensor], ...]:
    """The gradients of the reference, differentiable in their turn where gradients are enabled.

    Args:
        specification: what to differentiate.
        scores: the four tensors of the chain.
        weights: the shape of what `specification` returns.

    Returns:
        Four gradients, `None` for scores that require none.
    """
    with torch.enable_grad():
        # Views tell two arguments apart that are one tensor.
        inputs = ChainScores(*(tensor.view_as(tensor) for tensor in scores))
        values = specification(inputs)
    differentiated = [tensor for tensor in inputs if tensor.requires_grad]
    gradients = iter(
        torch.autograd.grad(
            values, differentiated, weights, create_graph=torch.is_grad_enabled(), allow_unused=True
        )
    )
    return tuple(next(gradients) if tensor.requires_grad else None for tensor in inputs)
