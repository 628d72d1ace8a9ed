"""The functions of the chain over a backend's primitives, with derivatives.

Letters: `B` rows (sequences), `T` tokens, `K` tags.
"""

from functools import partial
from typing import Any, Callable, Tuple

import torch

from tagger.linear_chain import reference
from tagger.linear_chain.backend import Backend, CannotComputeError, Computed, Gradients
from tagger.linear_chain.chain_scores import ChainScores, in_float64_on_cpu, restricted
from tagger.linear_chain.log_space import log_ratio, logsumexp, normalized_exp, total_of
from tagger.linear_chain.padding import last_tokens, real_tokens, without_padding

#: A function of the scores alone, in plain PyTorch.
ScoreFunction = Callable[[ChainScores], torch.Tensor]

#: The primitive that computes each function which `weighted_sum` can weigh.
_PRIMITIVES = {
    "step_log_likelihoods": "steps",
    "step_log_conditionals": "conditionals",
    "step_log_marginals": "marginals",
}


class BackendFunctions:
    """The functions of `reference`, computed by a backend.

    Second derivatives go through the reference, and so does what the backend cannot compute.

    Args:
        backend: The primitives.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    step_scores = staticmethod(reference.step_scores)

    def log_partition(self, scores: ChainScores, lengths: torch.Tensor) -> torch.Tensor:
        """As `reference.log_partition`."""
        specification = partial(reference.log_partition, lengths=lengths)
        return _differentiable(specification, self._backend.steps, scores, lengths, None, True)

    def step_log_normalizers(self, scores: ChainScores, lengths: torch.Tensor) -> torch.Tensor:
        """As `reference.step_log_normalizers`."""
        specification = partial(reference.step_log_normalizers, lengths=lengths)
        return _differentiable(specification, self._backend.steps, scores, lengths, None, False)

    def log_likelihood(
        self, scores: ChainScores, gold_tags: torch.Tensor, lengths: torch.Tensor
    ) -> torch.Tensor:
        """As `reference.log_likelihood`."""
        specification = partial(reference.log_likelihood, gold_tags=gold_tags, lengths=lengths)
        if gold_tags.dim() == 2:
            return _differentiable(
                specification, self._backend.steps, scores, lengths, gold_tags, True
            )
        weighted = self._backend.weighted
        if weighted is None or not _require_gradients(scores):
            return total_of(self.step_log_likelihoods(scores, gold_tags, lengths))
        return _differentiable(
            specification, partial(weighted, "steps"), scores, lengths, gold_tags, None
        )

    def step_log_likelihoods(
        self, scores: ChainScores, gold_tags: torch.Tensor, lengths: torch.Tensor
    ) -> torch.Tensor:
        """As `reference.step_log_likelihoods`."""
        if gold_tags.dim() == 3:
            exact = in_float64_on_cpu(scores)
            allowed = self.step_log_normalizers(restricted(exact, gold_tags), lengths)
            steps = log_ratio(allowed, self.step_log_normalizers(exact, lengths))
            return steps.to(scores.emissions.dtype)
        specification = partial(
            reference.step_log_likelihoods, gold_tags=gold_tags, lengths=lengths
        )
        return _differentiable(
            specification, self._backend.steps, scores, lengths, gold_tags, False
        )

    def weighted_sum(
        self,
        name: str,
        scores: ChainScores,
        gold_tags: torch.Tensor,
        lengths: torch.Tensor,
        weights: torch.Tensor,
    ) -> torch.Tensor:
        """As `reference.weighted_sum`."""
        weighted = self._backend.weighted
        if weighted is None or not _require_gradients(scores):
            weights = without_padding(weights, real_tokens(lengths, weights.size(1)))
            return total_of(getattr(self, name)(scores, gold_tags, lengths), weights)
        specification = partial(
            reference.weighted_sum, name, gold_tags=gold_tags, lengths=lengths, weights=weights
        )
        primitive = partial(weighted, _PRIMITIVES[name])
        return _differentiable(specification, primitive, scores, lengths, gold_tags, weights)

    def forward_scores(self, scores: ChainScores, lengths: torch.Tensor) -> torch.Tensor:
        """As `reference.forward_scores`."""
        specification = partial(reference.forward_scores, lengths=lengths)
        return _differentiable(specification, self._forward_scores, scores, lengths)

    def backward_scores(self, scores: ChainScores, lengths: torch.Tensor) -> torch.Tensor:
        """As `reference.backward_scores`."""
        specification = partial(reference.backward_scores, lengths=lengths)
        return _differentiable(specification, self._backward_scores, scores, lengths)

    def tag_marginals(self, scores: ChainScores, lengths: torch.Tensor) -> torch.Tensor:
        """As `reference.tag_marginals`."""
        primitive = self._backend.marginals
        if primitive is not None:
            specification = partial(reference.tag_marginals, lengths=lengths)
            return _differentiable(specification, primitive, scores, lengths, None)
        joint, mask = self._log_joint(scores, lengths)
        return without_padding(normalized_exp(joint, dim=2), mask)

    def step_log_marginals(
        self, scores: ChainScores, gold_tags: torch.Tensor, lengths: torch.Tensor
    ) -> torch.Tensor:
        """As `reference.step_log_marginals`."""
        primitive = self._backend.marginals
        if primitive is not None:
            specification = partial(
                reference.step_log_marginals, gold_tags=gold_tags, lengths=lengths
            )
            return _differentiable(specification, primitive, scores, lengths, gold_tags)
        joint, mask = self._log_joint(scores, lengths)
        return without_padding(_log_shares(joint, gold_tags, mask), mask)

    def step_log_conditionals(
        self, scores: ChainScores, gold_tags: torch.Tensor, lengths: torch.Tensor
    ) -> torch.Tensor:
        """As `reference.step_log_conditionals`."""
        primitive = self._backend.conditionals
        if primitive is not None:
            specification = partial(
                reference.step_log_conditionals, gold_tags=gold_tags, lengths=lengths
            )
            return _differentiable(specification, primitive, scores, lengths, gold_tags)
        mask = real_tokens(lengths, scores.emissions.size(1))
        if gold_tags.dim() == 3:
            arriving = self._arrivals(restricted(scores, gold_tags), lengths, False)
        else:
            arriving = _arrivals_of_path(scores, without_padding(gold_tags, mask))
        following = self._arrivals(scores, lengths, True) + without_padding(scores.emissions, mask)
        steps = _log_shares(arriving + following, gold_tags, mask)
        # No prefix is possible once one token's tag is impossible.
        impossible = torch.full_like(steps, -torch.inf)
        return without_padding(torch.where(steps.cumsum(1) == -torch.inf, impossible, steps), mask)

    def transition_marginals(self, scores: ChainScores, lengths: torch.Tensor) -> torch.Tensor:
        """As `reference.transition_marginals`."""
        primitive = self._backend.transition_marginals
        if primitive is not None:
            specification = partial(reference.transition_marginals, lengths=lengths)
            return _differentiable(specification, primitive, scores, lengths)
        mask = real_tokens(lengths, scores.emissions.size(1))
        emissions = without_padding(scores.emissions, mask)
        before = self._arrivals(scores, lengths, False) + emissions
        following = self._arrivals(scores, lengths, True) + emissions
        # (B, T - 1, K, K)
        joint = before[:, :-1].unsqueeze(3) + scores.transitions + following[:, 1:].unsqueeze(2)
        probabilities = normalized_exp(joint.flatten(2), dim=2).view_as(joint)
        return without_padding(probabilities, mask[:, 1:])

    def k_best_decode(
        self, scores: ChainScores, lengths: torch.Tensor, k: int
    ) -> Tuple[torch.Tensor, torch.Tensor]:
        """As `reference.k_best_decode`."""
        try:
            return self._backend.best_paths(scores, lengths, k)
        except CannotComputeError:
            return reference.k_best_decode(scores, lengths, k)

    def sample_paths(
        self, scores: ChainScores, lengths: torch.Tensor, uniforms: torch.Tensor
    ) -> torch.Tensor:
        """As `reference.sample_paths`."""
        try:
            return self._backend.samples(scores, lengths, uniforms)
        except CannotComputeError:
            return reference.sample_paths(scores, lengths, uniforms)

    def _forward_scores(
        self, scores: ChainScores, lengths: torch.Tensor, with_gradients: bool
    ) -> Computed:
        arrivals = self._backend.arrivals(scores, lengths, False, False, False)
        return Computed(arrivals.values + scores.emissions.detach())

    def _backward_scores(
        self, scores: ChainScores, lengths: torch.Tensor, with_gradients: bool
    ) -> Computed:
        arrivals = self._backend.arrivals(scores, lengths, True, False, False).values
        mask = real_tokens(lengths, arrivals.size(1))
        emissions = without_padding(scores.emissions.detach(), mask)
        # Backends may let underflow what arrives at a tag whose emission is -inf: no path needs it.
        is_lost = (arrivals == -torch.inf) & (emissions == -torch.inf)
        if bool(is_lost.any()):
            exact = ChainScores(*(tensor.detach().double() for tensor in scores))
            following = (arrivals + emissions.double())[:, 1:].unsqueeze(2)
            # (B, T, K): by the recursion, from the tags of the token after, whose emissions count
            leaving = torch.cat(
                [logsumexp(exact.transitions + following, dim=3), exact.emissions[:, :1]], dim=1
            )
            leaving = torch.where(last_tokens(mask).unsqueeze(2), exact.end, leaving)
            arrivals = torch.where(is_lost, leaving.to(arrivals.dtype), arrivals)
        return Computed(arrivals)

    def _arrivals(
        self, scores: ChainScores, lengths: torch.Tensor, from_the_end: bool
    ) -> torch.Tensor:
        """What arrives at each tag, (B, T, K), up to a constant for each token."""
        specification = partial(
            reference.relative_arrivals, lengths=lengths, from_the_end=from_the_end
        )
        return _differentiable(
            specification, self._backend.arrivals, scores, lengths, from_the_end, True
        )

    def _log_joint(
        self, scores: ChainScores, lengths: torch.Tensor
    ) -> Tuple[torch.Tensor, torch.Tensor]:
        """The log-sum of all paths through each tag, up to a constant for each token; and the mask."""
        mask = real_tokens(lengths, scores.emissions.size(1))
        before = self._arrivals(scores, lengths, False)
        following = self._arrivals(scores, lengths, True)
        return before + without_padding(scores.emissions, mask) + following, mask


def _arrivals_of_path(scores: ChainScores, tags: torch.Tensor) -> torch.Tensor:
    """What each tag receives from the tag before it on a path, (B, T, K)."""
    start = scores.start.expand(len(tags), 1, -1)
    return torch.cat([start, scores.transitions[tags[:, :-1]]], dim=1)


def _log_shares(joint: torch.Tensor, gold_tags: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """The log of the gold tags' share in all tags of `joint`, (B, T)."""
    if gold_tags.dim() == 2:
        share = joint.gather(2, without_padding(gold_tags, mask).unsqueeze(2)).squeeze(2)
    else:
        impossible = torch.full_like(joint, -torch.inf)
        share = logsumexp(torch.where(gold_tags, joint, impossible), dim=2)
    return log_ratio(share, logsumexp(joint, dim=2))


def _require_gradients(scores: ChainScores) -> bool:
    emissions, transitions, start, end = scores
    return torch.is_grad_enabled() and (
        emissions.requires_grad
        or transitions.requires_grad
        or start.requires_grad
        or end.requires_grad
    )


def _differentiable(
    specification: ScoreFunction,
    primitive: Callable[..., Computed],
    scores: ChainScores,
    *arguments: Any,
) -> torch.Tensor:
    """The values of a primitive, with derivatives if the scores require them.

    Args:
        specification: Computes the same values in plain PyTorch. It takes the place of the primitive
            where that cannot compute them, and is differentiated for second derivatives.
        primitive: Called with the scores, `arguments` and `with_gradients`.
        scores: The scores of B rows.
        *arguments: Further arguments of the primitive.
    """
    with_gradients = _require_gradients(scores)
    try:
        computed = primitive(scores, *arguments, with_gradients)
    except CannotComputeError:
        return specification(scores)
    if not with_gradients:
        return computed.values
    return _Attached.apply(computed, specification, *scores)


class _Attached(torch.autograd.Function):
    """Puts values that have been computed already into PyTorch's graph."""

    @staticmethod
    def forward(
        ctx: Any, computed: Computed, specification: ScoreFunction, *scores: torch.Tensor
    ) -> torch.Tensor:
        ctx.specification, ctx.gradients = specification, computed.gradients
        ctx.save_for_backward(*scores, *computed.kept)
        return computed.values

    @staticmethod
    def backward(ctx: Any, weights: torch.Tensor) -> Gradients:
        saved = ctx.saved_tensors
        scores, kept = ChainScores(*saved[:4]), saved[4:]
        if ctx.gradients is None or torch.is_grad_enabled():
            return (None, None, *_reference_gradients(ctx.specification, scores, weights))
        return (None, None, *ctx.gradients(scores, kept, weights))


def _reference_gradients(
    specification: ScoreFunction, scores: ChainScores, weights: torch.Tensor
) -> Gradients:
    """The gradients of a specification, differentiable again where gradients are enabled.

    Returns:
        Four gradients, `None` for scores that require none.
    """
    with torch.enable_grad():
        # Views tell two arguments apart that are one tensor.
        inputs = ChainScores(*(tensor.view_as(tensor) for tensor in scores))
        values = specification(in_float64_on_cpu(inputs)).to(weights.dtype)
    differentiated = [tensor for tensor in inputs if tensor.requires_grad]
    gradients = iter(
        torch.autograd.grad(
            values, differentiated, weights, create_graph=torch.is_grad_enabled(), allow_unused=True
        )
    )
    return tuple(next(gradients) if tensor.requires_grad else None for tensor in inputs)
