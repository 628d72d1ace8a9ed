"""A few long chains: products of transition matrices, in parallel over tokens.

A kernel's program computes one row token by token, so a few rows leave most of a GPU idle. Here each
token after the first is a (K, K) matrix, the scores of moving to it. The product of two neighbours,
with a log-sum or a maximum instead of the sum, is such a matrix again. Products are associative, so
neighbours are multiplied in parallel, level by level, until one matrix is left (Särkkä &
García-Fernández 2021, "Temporal parallelization of Bayesian smoothers", for finitely many states). That
takes K times as many operations, but log2 T steps instead of T.

Each product is shifted so that its largest entry is 0, and the shifts are summed in float64, so long
chains lose no digits. Letters: `B` rows, `T` tokens, `K` tags, `N` products of a level.
"""

from functools import partial
from typing import Callable, List, Optional, Tuple

import torch

from tagger.linear_chain.autograd import Computed, Gradients, Tensors
from tagger.linear_chain.chain_scores import ChainScores
from tagger.linear_chain.log_space import log_ratio, logsumexp
from tagger.linear_chain.padding import real_tokens, without_padding

# Not tuned on a GPU. Fewer tokens take a kernel little time, and more rows keep it busy.
_FEWEST_TOKENS = 512
_MOST_ROWS = 16
# The most sums of the first level, B T K^3; each takes memory.
_MOST_SUMS = 2**25

#: Reduces (B, N, K, K, K) over the fourth dimension.
Reduction = Callable[[torch.Tensor], torch.Tensor]


def suits(scores: ChainScores) -> bool:
    """Whether the chains are few and long."""
    batch_size, num_tokens, num_tags = scores.emissions.shape
    num_sums = batch_size * num_tokens * num_tags**3
    return num_tokens >= _FEWEST_TOKENS and batch_size <= _MOST_ROWS and num_sums <= _MOST_SUMS


def log_likelihoods(
    scores: ChainScores,
    lengths: torch.Tensor,
    gold_tags: Optional[torch.Tensor],
    with_gradients: bool,
) -> Computed:
    """The sums over tokens that the primitive `_steps` returns."""
    batch_size = len(lengths)
    # Each row has its own copy of the scores, so its gradients can be weighted in the backward pass.
    own = [
        scores.emissions.detach(),
        *(each.detach().expand(batch_size, *each.shape) for each in scores[1:]),
    ]
    with torch.set_grad_enabled(with_gradients):
        leaves = [each.clone().requires_grad_(with_gradients) for each in own]
        values = _log_partition(leaves, lengths)
        if gold_tags is not None:
            values = log_ratio(_path_scores(leaves, lengths, gold_tags), values)
        if not with_gradients:
            return Computed(values.to(scores.emissions.dtype))
        possible = torch.where(values == -torch.inf, torch.zeros_like(values), values)
        kept = torch.autograd.grad(
            possible.sum(), leaves, allow_unused=True, materialize_grads=True
        )
    return Computed(values.detach().to(scores.emissions.dtype), _weighted, kept)


def best_paths(scores: ChainScores, lengths: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
    """The best path of each row, (B, 1, T), and its score, (B, 1)."""
    emissions, transitions, start, end = (each.detach() for each in scores)
    mask = real_tokens(lengths, emissions.size(1))
    emissions = without_padding(emissions, mask)
    befores: List[torch.Tensor] = []

    def best(sums: torch.Tensor) -> torch.Tensor:
        tops, before = sums.max(3)
        befores.append(before)
        return tops

    product, shift = _product(_moves(emissions, transitions, mask), best)
    # (B, K, K): by the first and the last tag
    totals = product + (start + emissions[:, 0]).unsqueeze(2) + end
    path_scores, ends = totals.flatten(1).max(1)
    lefts, rights = (each.unsqueeze(1) for each in (ends // len(start), ends % len(start)))
    rows = torch.arange(len(mask), device=mask.device).unsqueeze(1)
    for before in reversed(befores):
        products = torch.arange(before.size(1), device=mask.device)
        lefts, rights = lefts[:, : before.size(1)], rights[:, : before.size(1)]
        middles = before[rows, products, lefts, rights]
        lefts = torch.stack([lefts, middles], dim=2).flatten(1)
        rights = torch.stack([middles, rights], dim=2).flatten(1)
    paths = torch.cat([lefts[:, :1], rights], dim=1)[:, : mask.size(1)]
    path_scores = torch.where(lengths > 0, path_scores.double() + shift, 0.0)
    return without_padding(paths, mask).unsqueeze(1), path_scores.to(emissions.dtype).unsqueeze(1)


def _log_partition(leaves: List[torch.Tensor], lengths: torch.Tensor) -> torch.Tensor:
    """log Z, (B,) float64, of rows that each have their own copy of the scores."""
    emissions, transitions, start, end = leaves
    mask = real_tokens(lengths, emissions.size(1))
    emissions = without_padding(emissions, mask)
    product, shift = _product(
        _moves(emissions, transitions.unsqueeze(1), mask), partial(logsumexp, dim=3)
    )
    totals = product + (start + emissions[:, 0]).unsqueeze(2) + end.unsqueeze(1)
    log_partition = logsumexp(totals.flatten(1), dim=1).double() + shift
    return torch.where(lengths > 0, log_partition, torch.zeros_like(log_partition))


def _moves(emissions: torch.Tensor, transitions: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """The scores of moving to each token after the first, (B, T - 1, K, K), at least one.

    In the padding they keep the tag, which changes no product.
    """
    moves = transitions + emissions[:, 1:].unsqueeze(2)
    moves = torch.where(mask[:, 1:, None, None], moves, _staying(moves))
    return moves if moves.size(1) else _staying(emissions.unsqueeze(2)).expand(-1, 1, -1, -1)


def _staying(like: torch.Tensor) -> torch.Tensor:
    """The scores of keeping the tag, (1, 1, K, K): 0 on the diagonal, else -inf."""
    num_tags = like.size(-1)
    eye = torch.eye(num_tags, dtype=torch.bool, device=like.device)
    impossible = torch.full((num_tags, num_tags), -torch.inf, dtype=like.dtype, device=like.device)
    return impossible.masked_fill(eye, 0.0)[None, None]


def _product(moves: torch.Tensor, reduce: Reduction) -> Tuple[torch.Tensor, torch.Tensor]:
    """The product of a row's matrices, (B, N, K, K), minus its shift: (B, K, K), and (B,) float64.

    `reduce` is called once for each level, with the sums over the tag in the middle.
    """
    shift = torch.zeros(len(moves), dtype=torch.float64, device=moves.device)
    while moves.size(1) > 1:
        if moves.size(1) % 2:
            staying = _staying(moves).expand(len(moves), -1, -1, -1)
            moves = torch.cat([moves, staying], dim=1)
        moves = reduce(moves[:, 0::2].unsqueeze(4) + moves[:, 1::2].unsqueeze(2))
        tops = moves.detach().amax((2, 3), keepdim=True)
        tops = torch.where(tops == -torch.inf, torch.zeros_like(tops), tops)
        moves = moves - tops
        shift = shift + tops.double().sum((1, 2, 3))
    return moves[:, 0], shift


def _path_scores(
    leaves: List[torch.Tensor], lengths: torch.Tensor, tags: torch.Tensor
) -> torch.Tensor:
    """The score of each row's path, (B,) float64."""
    emissions, transitions, start, end = leaves
    mask = real_tokens(lengths, emissions.size(1))
    tags = without_padding(tags, mask)
    rows = torch.arange(len(tags), device=tags.device).unsqueeze(1)
    steps = emissions.gather(2, tags.unsqueeze(2)).squeeze(2)
    arrivals = torch.cat(
        [start.gather(1, tags[:, :1]), transitions[rows, tags[:, :-1], tags[:, 1:]]], dim=1
    )
    last = tags.gather(1, (lengths - 1).clamp(min=0).unsqueeze(1))
    leaving = torch.where(lengths > 0, end.gather(1, last).squeeze(1), 0.0)
    return without_padding((steps + arrivals).double(), mask).sum(1) + leaving.double()


def _weighted(scores: ChainScores, kept: Tensors, weights: torch.Tensor) -> Gradients:
    by_emissions, *shared = kept
    return (
        by_emissions * weights[:, None, None],
        *(torch.einsum("b,b...->...", weights, each) for each in shared),
    )
