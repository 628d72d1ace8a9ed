"""What a backend supplies: the arithmetic of chains, without checks and without autograd.

`autograd` makes all functions of the chain from it. Letters: `B` rows (sequences), `T` tokens, `K` tags.
"""

from typing import Callable, NamedTuple, Optional, Tuple

import torch

from tagger.linear_chain.chain_scores import ChainScores

Tensors = Tuple[torch.Tensor, ...]
#: By the four scores; `None` for scores on which nothing depends, or that require no gradient.
Gradients = Tuple[Optional[torch.Tensor], ...]


class CannotComputeError(Exception):
    """A primitive raises it to leave a batch to the reference."""


class Computed(NamedTuple):
    """The result of a primitive, and how to differentiate it.

    Args:
        values: The result.
        gradients: In the backward pass, `gradients(scores, kept, weights)` returns the gradients of the
            sum of `weights` times `values` by the four scores, `weights` shaped as `values`; `None` if
            the reference is to compute them.
        kept: What `gradients` needs besides the scores. Large tensors belong here, not into a closure:
            autograd frees them after the backward pass.
    """

    values: torch.Tensor
    gradients: Optional[Callable[[ChainScores, Tensors, torch.Tensor], Gradients]] = None
    kept: Tensors = ()


class Backend(NamedTuple):
    """The primitives of one implementation.

    The first two arguments of each are the checked `scores` and the rows' `lengths`, (B,) int64. The
    scores may require gradients and may have any layout. A primitive builds no graph and ignores the
    padding; its result is 0 there unless stated otherwise. It raises `CannotComputeError` to leave a
    batch to the reference.

    The primitives that return `Computed` take as their last argument `with_gradients`, which says
    whether `gradients` will be called: a backend may then compute them in advance, or skip what only
    they need.

    Args:
        steps: `steps(scores, lengths, gold_tags, is_total, with_gradients)` returns the log normaliser
            of each token or, with a path `gold_tags`, (B, T) int64, the token's step score less it:
            (B, T), or with `is_total` the sum over tokens, (B,). A value of -inf has no gradient.
        arrivals: `arrivals(scores, lengths, from_the_end, is_relative, with_gradients)` returns the
            log-sum of all prefixes that lead to each tag, without its own emission, or
            `from_the_end` of all suffixes that follow it: (B, T, K), undefined in the padding. With
            `is_relative`, any constant may be added at each token, so that long chains lose no digits.
            Only relative arrivals need gradients, and these need to be right only if `weights` sum to
            0 over the tags of each token.
        best_paths: `best_paths(scores, lengths, k)` returns the k best paths, (B, k, T) int64, and
            their scores, (B, k).
        samples: `samples(scores, lengths, uniforms)` returns the paths that the numbers `uniforms`,
            (B, S, T) float64, draw by backward sampling: (B, S, T) int64.
        weighted: `weighted(name, scores, lengths, gold_tags, weights, with_gradients)` returns the sum
            over each row's tokens of `weights`, (B, T), times what the primitive `name` returns for the
            gold tags, (B,): "steps", "conditionals" or "marginals". Without `weights`, each token weighs
            1. For "steps", `gold_tags` may also be sets of tags, whose log normalisers are those of the
            chain that the sets allow. A sum that is -inf has no gradient. Only called with gradients. If
            it is `None`, `autograd` sums the weighted results of the primitives.
        marginals: `marginals(scores, lengths, gold_tags, with_gradients)` returns the tag marginals,
            (B, T, K); or with `gold_tags`, a path or sets of tags, the log-probability of each token's
            gold tag, (B, T). This primitive and the next two may be `None`: `autograd` then composes
            their results of relative arrivals.
        conditionals: `conditionals(scores, lengths, gold_tags, with_gradients)` returns the
            log-probability of each token's gold tag given the gold tags before it, (B, T).
        transition_marginals: `transition_marginals(scores, lengths, with_gradients)` returns the
            probability of each transition, (B, T - 1, K, K).
    """

    steps: Callable[..., Computed]
    arrivals: Callable[..., Computed]
    best_paths: Callable[..., Tuple[torch.Tensor, torch.Tensor]]
    samples: Callable[..., torch.Tensor]
    weighted: Optional[Callable[..., Computed]] = None
    marginals: Optional[Callable[..., Computed]] = None
    conditionals: Optional[Callable[..., Computed]] = None
    transition_marginals: Optional[Callable[..., Computed]] = None
