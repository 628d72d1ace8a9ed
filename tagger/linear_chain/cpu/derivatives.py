"""Runs kernels: values with their derivatives, in probability space or, where that fails, in log space.

Letters: `B` rows (sequences), `T` tokens, `K` tags.
"""

from functools import partial
from typing import Any, Callable, NamedTuple, Optional, Sequence, Tuple

import numpy as np
import torch

from tagger.linear_chain.autograd import Computed, Gradients, Tensors
from tagger.linear_chain.chain_scores import ChainScores
from tagger.linear_chain.cpu.kernels.batch import Batch
from tagger.linear_chain.cpu.kernels.conditionals import conditional_gradient_rows
from tagger.linear_chain.cpu.kernels.log_rows import (
    log_gradient_rows,
    log_marginal_rows,
    log_set_gradient_rows,
    log_share_rows,
)
from tagger.linear_chain.cpu.kernels.marginals import marginal_gradient_rows
from tagger.linear_chain.cpu.kernels.sum_product import gradient_rows, set_gradient_rows
from tagger.linear_chain.kernels.compilation import for_row_ranges


class Kernels(NamedTuple):
    """The kernels that compute and differentiate one function of the chain.

    Args:
        rows: In probability space; `None` for what is computed in log space alone.
        work: The multiply-adds of `rows` for each pair of tags.
        log_rows: In log space.
        log_takes_sets: Whether `log_rows` takes a path as sets of one tag.
    """

    rows: Optional[Callable[..., Any]]
    work: int
    log_rows: Callable[..., Any]
    log_takes_sets: bool = False


#: Log normalisers or, of a path, log-likelihoods.
STEPS = Kernels(gradient_rows, 3, log_gradient_rows)
STEPS_OF_SETS = Kernels(set_gradient_rows, 6, log_set_gradient_rows)
CONDITIONALS = Kernels(
    conditional_gradient_rows, 3, partial(log_share_rows, given_gold=True), log_takes_sets=True
)
CONDITIONALS_OF_SETS = CONDITIONALS._replace(rows=None)
#: Log-marginals of gold tags.
MARGINALS = Kernels(
    marginal_gradient_rows, 6, partial(log_share_rows, given_gold=False), log_takes_sets=True
)
MARGINALS_OF_ALL = Kernels(marginal_gradient_rows, 6, log_marginal_rows)

#: Of kernels in log space, for each pair of tags: logarithms take longer than multiply-adds.
_LOG_WORK = 60


class Differentiated(NamedTuple):
    """What kernels compute together with derivatives.

    Args:
        values: Float64: (B, T), or of totals (B, 1), or of the marginals of all tags (B, T, K).
        by_emissions: (B, T, K), the gradient in the type of the emissions.
        shared: The gradients by the other scores, flat, float64.
    """

    values: np.ndarray
    by_emissions: np.ndarray
    shared: np.ndarray


def steps(
    kernels: Kernels,
    scores: ChainScores,
    gold_tags: torch.Tensor,
    lengths: torch.Tensor,
    weights: None,
    with_gradients: bool,
) -> Computed:
    """The values of a function of gold tags for each token, (B, T).

    They are differentiated in the backward pass, when their weights are known.
    """
    batch, tags = batch_of(scores, lengths), gold_tags_of(gold_tags)
    no_weights = np.zeros(batch.emissions.shape[:2])
    found = differentiated(kernels, batch, tags, no_weights, is_total=False)
    values = rounded(found.values, batch.emissions.dtype)
    return Computed(values, partial(gradients, kernels, gold_tags, lengths))


def totals(
    kernels: Kernels,
    scores: ChainScores,
    gold_tags: Optional[torch.Tensor],
    lengths: torch.Tensor,
    weights: Optional[torch.Tensor],
    with_gradients: bool,
) -> Computed:
    """The sum of a function over each row's tokens, (B,), weighted by `weights`, (B, T), or not.

    A sum mostly gets the same weight for all rows. So its gradients for weight 1 are computed along
    with it, and computed again only if the weights turn out to differ.
    """
    batch, tags = batch_of(scores, lengths), gold_tags_of(gold_tags)
    of_tokens = np.ones((len(batch.lengths), 1)) if weights is None else _float64(weights)
    values, by_emissions, shared = differentiated(kernels, batch, tags, of_tokens, is_total=True)
    return Computed(
        rounded(values.reshape(-1), by_emissions.dtype),
        partial(_total_gradients, kernels, gold_tags, lengths, of_tokens),
        (torch.from_numpy(by_emissions), torch.from_numpy(shared)),
    )


def gradients(
    kernels: Kernels,
    gold_tags: Optional[torch.Tensor],
    lengths: torch.Tensor,
    scores: ChainScores,
    kept: Tensors,
    weights: torch.Tensor,
) -> Gradients:
    """The gradients of a function's values for each token."""
    batch, tags = batch_of(scores, lengths), gold_tags_of(gold_tags)
    found = differentiated(kernels, batch, tags, _float64(weights), is_total=False)
    return gradients_of(found.by_emissions, found.shared)


def _total_gradients(
    kernels: Kernels,
    gold_tags: Optional[torch.Tensor],
    lengths: torch.Tensor,
    weights: np.ndarray,
    scores: ChainScores,
    kept: Tensors,
    upstream: torch.Tensor,
) -> Gradients:
    """The gradients of totals; `kept` are those for an upstream gradient of 1."""
    of_rows = upstream.numpy()
    # The gradient of a sum over rows is one number at all of them.
    if len(of_rows) < 2 or of_rows.strides == (0,) or (of_rows == of_rows[0]).all():
        factor = of_rows[0] if len(of_rows) else 1.0
        by_emissions, shared = (gradient.numpy() * factor for gradient in kept)
        return gradients_of(by_emissions, shared)
    weights = weights * of_rows[:, np.newaxis].astype(np.float64)
    batch, tags = batch_of(scores, lengths), gold_tags_of(gold_tags)
    found = differentiated(kernels, batch, tags, weights, is_total=True)
    return gradients_of(found.by_emissions, found.shared)


def differentiated(
    kernels: Kernels,
    batch: Batch,
    gold_tags: Optional[np.ndarray],
    weights: np.ndarray,
    is_total: bool,
) -> Differentiated:
    """Differentiates the sum of `weights` times the values of a function."""
    batch_size, _, num_tags = batch.emissions.shape
    if kernels.rows is None:
        every_row = np.ones(batch_size, np.bool_)
        return differentiated_in_log_space(kernels, batch, gold_tags, weights, is_total, every_row)
    values = np.zeros(_shape_of_values(weights, batch, is_total))
    by_emissions = np.zeros(batch.emissions.shape, batch.emissions.dtype)
    left = np.zeros(batch_size, np.bool_)
    arguments = (batch, gold_tags, weights, is_total, values, by_emissions, left)
    work = kernels.work * num_tags**2
    shared = _sum_of(for_row_ranges(kernels.rows, batch.lengths, work, *arguments))
    if left.any():
        exact = differentiated_in_log_space(kernels, batch, gold_tags, weights, is_total, left)
        values[left], by_emissions[left] = exact.values, exact.by_emissions
        shared = shared + exact.shared
    return Differentiated(values, by_emissions, shared)


def differentiated_in_log_space(
    kernels: Kernels,
    batch: Batch,
    gold_tags: Optional[np.ndarray],
    weights: np.ndarray,
    is_total: bool,
    left: np.ndarray,
) -> Differentiated:
    """As `differentiated`, of those rows alone that are marked in `left`, (B,) bool."""
    lengths, emissions, *others = batch
    scores = [array.astype(np.float64) for array in (emissions[left], *others)]
    part, weights = Batch(lengths[left], *scores), weights[left]
    tags = None if gold_tags is None else gold_tags[left]
    if kernels.log_takes_sets and tags is not None and tags.ndim == 2:
        tags = tags[:, :, np.newaxis] == np.arange(emissions.shape[2])
    values = np.zeros(_shape_of_values(weights, part, is_total))
    by_emissions = np.zeros_like(part.emissions)
    arguments = (part, tags, weights, is_total, values, by_emissions)
    work = _LOG_WORK * emissions.shape[2] ** 2
    shared = _sum_of(for_row_ranges(kernels.log_rows, part.lengths, work, *arguments))
    return Differentiated(values, by_emissions.astype(emissions.dtype), shared)


def array(tensor: torch.Tensor) -> np.ndarray:
    """The tensor's memory, or a copy if it is not C-contiguous."""
    return tensor.detach().contiguous().numpy()


def gold_tags_of(gold_tags: Optional[torch.Tensor]) -> Optional[np.ndarray]:
    """Gold tags as an array, if there are any."""
    return None if gold_tags is None else array(gold_tags)


def batch_of(scores: ChainScores, lengths: torch.Tensor) -> Batch:
    """The arrays of a batch of chains."""
    emissions, transitions, start, end = scores
    shared = (array(tensor).astype(np.float64, copy=False) for tensor in (transitions, start, end))
    return Batch(array(lengths), array(emissions), *shared)


def gradients_of(by_emissions: np.ndarray, shared: np.ndarray) -> Gradients:
    """The gradients by the four scores.

    Args:
        by_emissions: (B, T, K).
        shared: The gradients by transitions, start and end, flat and float64.
    """
    flat = rounded(shared, by_emissions.dtype).numpy()
    num_tags = by_emissions.shape[2]
    num_pairs = num_tags * num_tags
    parts = (
        by_emissions,
        flat[:num_pairs].reshape(num_tags, num_tags),
        flat[num_pairs : num_pairs + num_tags],
        flat[num_pairs + num_tags :],
    )
    return tuple(map(torch.from_numpy, parts))


def rounded(values: np.ndarray, dtype: np.dtype) -> torch.Tensor:
    """Float64 `values` in the type of the scores, in which the largest are infinite."""
    with np.errstate(over="ignore"):
        return torch.from_numpy(values.astype(dtype))


def _sum_of(shared: Sequence[np.ndarray]) -> np.ndarray:
    """The `flat` of the `SharedGradients` of all ranges of rows, summed."""
    return shared[0] if len(shared) == 1 else np.sum(shared, axis=0)


def _float64(weights: torch.Tensor) -> np.ndarray:
    return array(weights).astype(np.float64)


def _shape_of_values(weights: np.ndarray, batch: Batch, is_total: bool) -> Tuple[int, ...]:
    if weights.ndim == 3:
        return weights.shape
    return len(weights), 1 if is_total else batch.emissions.shape[1]
