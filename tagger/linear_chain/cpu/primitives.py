"""The primitives of the CPU backend; see `tagger.linear_chain.backend` for what each returns.

Letters: `B` rows (sequences), `T` tokens, `K` tags.
"""

from functools import partial
from typing import Optional, Tuple

import numpy as np
import torch

from tagger.kernels.compilation import for_row_ranges
from tagger.linear_chain.backend import CannotComputeError, Computed, Gradients, Tensors
from tagger.linear_chain.chain_scores import ChainScores
from tagger.linear_chain.cpu.arrays import array, batch_of, gradients_of, sum_of
from tagger.linear_chain.cpu.kernels.batch import Batch
from tagger.linear_chain.cpu.kernels.conditionals import (
    arrival_rows,
    conditional_gradient_rows,
    conditional_rows,
)
from tagger.linear_chain.cpu.kernels.marginals import (
    MarginalFactors,
    log_marginal_gradient_rows,
    log_marginal_rows,
    marginal_gradient_rows,
    marginal_rows,
)
from tagger.linear_chain.cpu.kernels.max_sum import best_rows, k_best_rows
from tagger.linear_chain.cpu.kernels.messages import TINY
from tagger.linear_chain.cpu.kernels.sampling import sample_rows
from tagger.linear_chain.cpu.kernels.sum_product import (
    forward_rows,
    gradient_rows,
    transition_marginal_rows,
)
from tagger.linear_chain.padding import real_tokens


def steps(
    scores: ChainScores,
    lengths: torch.Tensor,
    gold_tags: Optional[torch.Tensor],
    is_total: bool,
    with_gradients: bool,
) -> Computed:
    """Log normalisers or log-likelihoods, of each token or summed.

    A sum mostly gets the same weight for all rows. So its gradients for weight 1 are computed along
    with it, and computed again only if the weights turn out to differ.
    """
    batch = batch_of(scores, lengths)
    path = None if gold_tags is None else array(gold_tags)
    batch_size, num_tokens, num_tags = batch.emissions.shape
    dtype = batch.emissions.dtype
    if is_total and with_gradients:
        weights = np.ones((batch_size, 1), dtype)
        totals, *gradients = _values_and_gradients(batch, path, weights, is_total)
        return Computed(
            torch.from_numpy(totals.reshape(-1)),
            partial(_total_gradients, lengths, gold_tags),
            tuple(map(torch.from_numpy, gradients)),
        )
    values = np.zeros((batch_size, 1 if is_total else num_tokens), dtype)
    for_row_ranges(forward_rows, batch.lengths, num_tags**2, batch, path, is_total, values)
    if is_total:
        return Computed(torch.from_numpy(values.reshape(-1)))
    return Computed(torch.from_numpy(values), partial(_step_gradients, lengths, gold_tags))


def arrivals(
    scores: ChainScores,
    lengths: torch.Tensor,
    from_the_end: bool,
    is_relative: bool,
    with_gradients: bool,
) -> Computed:
    """Log-sums of prefixes or suffixes, -inf in the padding; the reference differentiates them."""
    if is_relative:
        raise CannotComputeError
    batch = batch_of(scores, lengths)
    values = np.full_like(batch.emissions, -np.inf)
    work = 2 * values.shape[2] ** 2
    for_row_ranges(arrival_rows, batch.lengths, work, batch, from_the_end, values)
    return Computed(torch.from_numpy(values))


def marginals(
    scores: ChainScores,
    lengths: torch.Tensor,
    gold_tags: Optional[torch.Tensor],
    with_gradients: bool,
) -> Computed:
    """Tag marginals, or the log-marginals of a path or of sets of tags."""
    batch = batch_of(scores, lengths)
    shape, dtype = batch.emissions.shape, batch.emissions.dtype
    factors = MarginalFactors(np.zeros(shape), np.zeros(shape), np.zeros(shape))
    work = 2 * shape[2] ** 2
    is_complete = all(for_row_ranges(marginal_rows, batch.lengths, work, batch, factors))
    if gold_tags is not None and gold_tags.dim() == 2:
        values = np.zeros(shape[:2], dtype)
        path = array(gold_tags)
        if not is_complete or not all(
            for_row_ranges(log_marginal_rows, batch.lengths, 1, batch, path, factors, values)
        ):
            raise CannotComputeError
    else:
        values = _probabilities(batch, factors, is_complete)
        if gold_tags is not None:
            values = np.log(_shares(gold_tags, lengths, values))
        values = values.astype(dtype)
    if not is_complete:
        return Computed(torch.from_numpy(values))
    return Computed(
        torch.from_numpy(values),
        partial(_marginal_gradients, lengths, gold_tags),
        tuple(map(torch.from_numpy, factors)),
    )


def conditionals(
    scores: ChainScores, lengths: torch.Tensor, gold_tags: torch.Tensor, with_gradients: bool
) -> Computed:
    """log p(y_t | y_{t-1}, x) of a path; not of sets of tags."""
    if gold_tags.dim() == 3:
        raise CannotComputeError
    batch, path = batch_of(scores, lengths), array(gold_tags)
    values = np.zeros(path.shape, batch.emissions.dtype)
    work = batch.emissions.shape[2] ** 2
    if not all(for_row_ranges(conditional_rows, batch.lengths, work, batch, path, values)):
        raise CannotComputeError
    return Computed(torch.from_numpy(values), partial(_conditional_gradients, lengths, gold_tags))


def transition_marginals(
    scores: ChainScores, lengths: torch.Tensor, with_gradients: bool
) -> Computed:
    """Transition marginals; the reference differentiates them."""
    batch = batch_of(scores, lengths)
    batch_size, num_tokens, num_tags = batch.emissions.shape
    shape = (batch_size, max(num_tokens - 1, 0), num_tags, num_tags)
    values = np.zeros(shape, batch.emissions.dtype)
    for_row_ranges(transition_marginal_rows, batch.lengths, 4 * num_tags**2, batch, values)
    return Computed(torch.from_numpy(values))


def best_paths(
    scores: ChainScores, lengths: torch.Tensor, k: int
) -> Tuple[torch.Tensor, torch.Tensor]:
    """The k best paths, and their scores."""
    batch = batch_of(scores, lengths)
    batch_size, num_tokens, num_tags = batch.emissions.shape
    paths = np.zeros((batch_size, k, num_tokens), np.int64)
    path_scores = np.zeros((batch_size, k), batch.emissions.dtype)
    rows = best_rows if k == 1 else k_best_rows
    for_row_ranges(rows, batch.lengths, k * num_tags**2, batch, paths, path_scores)
    return torch.from_numpy(paths), torch.from_numpy(path_scores)


def samples(scores: ChainScores, lengths: torch.Tensor, uniforms: torch.Tensor) -> torch.Tensor:
    """Sampled paths."""
    batch = batch_of(scores, lengths)
    num_tags = batch.emissions.shape[2]
    paths = np.zeros(uniforms.shape, np.int64)
    work = num_tags * (num_tags + 10 * uniforms.size(1))
    for_row_ranges(sample_rows, batch.lengths, work, batch, array(uniforms), paths)
    return torch.from_numpy(paths)


def _values_and_gradients(
    batch: Batch, path: Optional[np.ndarray], weights: np.ndarray, is_total: bool
) -> Tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What `steps` computes, and the gradients of its sum weighted by `weights`.

    Args:
        batch: A batch of B rows.
        path: (B, T), or `None` for log normalisers.
        weights: (B, T), or with `is_total` (B, 1).
        is_total: Whether to sum over tokens.

    Returns:
        The values, shaped as `weights`; the gradients by the emissions, (B, T, K), and by the shared
        scores, flat. All have the type of `weights`.
    """
    values = np.zeros(weights.shape, weights.dtype)
    by_emissions = np.zeros(batch.emissions.shape, weights.dtype)
    work = 3 * by_emissions.shape[2] ** 2
    args = (batch, path, weights, is_total, values, by_emissions)
    shared = for_row_ranges(gradient_rows, batch.lengths, work, *args)
    return values, by_emissions, sum_of(shared, by_emissions.dtype)


def _total_gradients(
    lengths: torch.Tensor,
    gold_tags: Optional[torch.Tensor],
    scores: ChainScores,
    kept: Tensors,
    weights: torch.Tensor,
) -> Gradients:
    """The gradients of sums; `kept` are those for weight 1."""
    weights_of_rows = weights.numpy()
    if (weights_of_rows == weights_of_rows[0]).all():
        by_emissions, shared = (gradient.numpy() * weights_of_rows[0] for gradient in kept)
        return gradients_of(by_emissions, shared)
    return _step_gradients(lengths, gold_tags, scores, (), weights.unsqueeze(1), is_total=True)


def _step_gradients(
    lengths: torch.Tensor,
    gold_tags: Optional[torch.Tensor],
    scores: ChainScores,
    kept: Tensors,
    weights: torch.Tensor,
    is_total: bool = False,
) -> Gradients:
    batch, path = batch_of(scores, lengths), None if gold_tags is None else array(gold_tags)
    _, *gradients = _values_and_gradients(batch, path, array(weights), is_total)
    return gradients_of(*gradients)


def _probabilities(batch: Batch, factors: MarginalFactors, is_complete: bool) -> np.ndarray:
    """Tag marginals, (B, T, K) float64: products of their factors, or else the gradient of log Z."""
    if is_complete:
        return factors.messages * factors.suffixes
    weights = np.ones((len(batch.emissions), 1))
    return _values_and_gradients(batch, None, weights, is_total=True)[1]


def _shares(
    gold_tags: torch.Tensor, lengths: torch.Tensor, probabilities: np.ndarray
) -> np.ndarray:
    """The probability of each token's set of tags, (B, T), 1 in the padding."""
    shares = np.where(array(gold_tags), probabilities, 0.0).sum(2)
    shares[~array(real_tokens(lengths, shares.shape[1]))] = 1.0
    if (shares < TINY).any():
        raise CannotComputeError
    return shares


def _marginal_gradients(
    lengths: torch.Tensor,
    gold_tags: Optional[torch.Tensor],
    scores: ChainScores,
    kept: Tensors,
    weights: torch.Tensor,
) -> Gradients:
    batch, factors = batch_of(scores, lengths), MarginalFactors(*map(array, kept))
    upstream, by_emissions = array(weights), np.zeros_like(batch.emissions)
    work = 4 * by_emissions.shape[2] ** 2
    args: Tuple[np.ndarray, ...]
    if gold_tags is not None and gold_tags.dim() == 2:
        rows, args = log_marginal_gradient_rows, (array(gold_tags), upstream, by_emissions)
    else:
        if gold_tags is not None:
            # The log of a set's probability is differentiated through the marginals in the set.
            shares = _shares(gold_tags, lengths, _probabilities(batch, factors, is_complete=True))
            upstream = np.where(array(gold_tags), (upstream / shares)[:, :, np.newaxis], 0.0)
        rows, args = marginal_gradient_rows, (upstream, by_emissions)
    shared = for_row_ranges(rows, batch.lengths, work, batch, factors, *args)
    return gradients_of(by_emissions, sum_of(shared, by_emissions.dtype))


def _conditional_gradients(
    lengths: torch.Tensor,
    gold_tags: torch.Tensor,
    scores: ChainScores,
    kept: Tensors,
    weights: torch.Tensor,
) -> Gradients:
    batch, upstream = batch_of(scores, lengths), array(weights)
    values, by_emissions = np.zeros_like(upstream), np.zeros_like(batch.emissions)
    work = 3 * by_emissions.shape[2] ** 2
    args = (batch, array(gold_tags), upstream, values, by_emissions)
    outcomes = for_row_ranges(conditional_gradient_rows, batch.lengths, work, *args)
    shared = sum_of([flat for _, flat in outcomes], by_emissions.dtype)
    return gradients_of(by_emissions, shared)
