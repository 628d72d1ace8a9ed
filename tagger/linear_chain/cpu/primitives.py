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
from tagger.linear_chain.cpu.arrays import (
    array,
    batch_of,
    exact_batch_of,
    gradients_of,
    rounded,
)
from tagger.linear_chain.cpu.derivatives import differentiated, differentiated_in_log_space
from tagger.linear_chain.cpu.kernels.batch import Batch
from tagger.linear_chain.cpu.kernels.conditionals import arrival_rows
from tagger.linear_chain.cpu.kernels.marginals import marginal_rows
from tagger.linear_chain.cpu.kernels.max_sum import best_rows, k_best_rows
from tagger.linear_chain.cpu.kernels.sampling import sample_rows
from tagger.linear_chain.cpu.kernels.sum_product import forward_rows, transition_marginal_rows


def steps(
    scores: ChainScores,
    lengths: torch.Tensor,
    gold_tags: Optional[torch.Tensor],
    is_total: bool,
    with_gradients: bool,
) -> Computed:
    """Log normalisers or log-likelihoods, of each token or summed."""
    if is_total and with_gradients:
        return _total("steps", scores, lengths, gold_tags, None)
    batch = batch_of(scores, lengths)
    path = None if gold_tags is None else array(gold_tags)
    batch_size, num_tokens, num_tags = batch.emissions.shape
    values = np.zeros((batch_size, 1 if is_total else num_tokens), batch.emissions.dtype)
    left = np.zeros(batch_size, np.bool_)
    for_row_ranges(forward_rows, batch.lengths, num_tags**2, batch, path, is_total, values, left)
    if left.any():
        weights = np.ones((batch_size, 1))
        exact = differentiated_in_log_space("steps", batch, path, weights, is_total, left)
        values[left] = exact.values
    if is_total:
        return Computed(torch.from_numpy(values.reshape(-1)))
    return Computed(torch.from_numpy(values), partial(_gradients, "steps", lengths, gold_tags))


def weighted(
    name: str,
    scores: ChainScores,
    lengths: torch.Tensor,
    gold_tags: torch.Tensor,
    weights: Optional[torch.Tensor],
    with_gradients: bool,
) -> Computed:
    """The weighted sums of steps, conditionals or log-marginals, with their gradients."""
    return _total(name, scores, lengths, gold_tags, weights)


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
    batch = exact_batch_of(scores, lengths)
    values = np.full_like(batch.emissions, -np.inf)
    work = 2 * values.shape[2] ** 2
    for_row_ranges(arrival_rows, batch.lengths, work, batch, from_the_end, values)
    return Computed(torch.from_numpy(values).to(scores.emissions.dtype))


def marginals(
    scores: ChainScores,
    lengths: torch.Tensor,
    gold_tags: Optional[torch.Tensor],
    with_gradients: bool,
) -> Computed:
    """Tag marginals, or the log-marginals of a path or of sets of tags."""
    batch = batch_of(scores, lengths)
    gradients = partial(_gradients, "marginals", lengths, gold_tags)
    if gold_tags is not None:
        return Computed(_values("marginals", batch, array(gold_tags)), gradients)
    shape = batch.emissions.shape
    values, left = np.zeros(shape, batch.emissions.dtype), np.zeros(shape[0], np.bool_)
    for_row_ranges(marginal_rows, batch.lengths, 2 * shape[2] ** 2, batch, values, left)
    if left.any():
        exact = differentiated_in_log_space("marginals", batch, None, np.zeros(shape), False, left)
        values[left] = exact.values
    return Computed(torch.from_numpy(values), gradients)


def conditionals(
    scores: ChainScores, lengths: torch.Tensor, gold_tags: torch.Tensor, with_gradients: bool
) -> Computed:
    """log p(y_t | y_{t-1}, x) of a path or of sets of tags."""
    values = _values("conditionals", batch_of(scores, lengths), array(gold_tags))
    return Computed(values, partial(_gradients, "conditionals", lengths, gold_tags))


def transition_marginals(
    scores: ChainScores, lengths: torch.Tensor, with_gradients: bool
) -> Computed:
    """Transition marginals; the reference differentiates them."""
    batch = exact_batch_of(scores, lengths)
    batch_size, num_tokens, num_tags = batch.emissions.shape
    values = np.zeros((batch_size, max(num_tokens - 1, 0), num_tags, num_tags))
    for_row_ranges(transition_marginal_rows, batch.lengths, 4 * num_tags**2, batch, values)
    return Computed(torch.from_numpy(values).to(scores.emissions.dtype))


def best_paths(
    scores: ChainScores, lengths: torch.Tensor, k: int
) -> Tuple[torch.Tensor, torch.Tensor]:
    """The k best paths, and their scores."""
    rows, to_batch = (best_rows, batch_of) if k == 1 else (k_best_rows, exact_batch_of)
    batch = to_batch(scores, lengths)
    batch_size, num_tokens, num_tags = batch.emissions.shape
    paths = np.zeros((batch_size, k, num_tokens), np.int64)
    path_scores = np.zeros((batch_size, k))
    for_row_ranges(rows, batch.lengths, k * num_tags**2, batch, paths, path_scores)
    return torch.from_numpy(paths), torch.from_numpy(path_scores).to(scores.emissions.dtype)


def samples(scores: ChainScores, lengths: torch.Tensor, uniforms: torch.Tensor) -> torch.Tensor:
    """Sampled paths."""
    batch = exact_batch_of(scores, lengths)
    num_tags = batch.emissions.shape[2]
    paths = np.zeros(uniforms.shape, np.int64)
    work = num_tags * (num_tags + 10 * uniforms.size(1))
    for_row_ranges(sample_rows, batch.lengths, work, batch, array(uniforms), paths)
    return torch.from_numpy(paths)


def _total(
    name: str,
    scores: ChainScores,
    lengths: torch.Tensor,
    gold_tags: Optional[torch.Tensor],
    weights: Optional[torch.Tensor],
) -> Computed:
    """The sum of a primitive over each row's tokens, weighted by `weights`, (B, T), or not.

    A sum mostly gets the same weight for all rows. So its gradients for weight 1 are computed along
    with it, and computed again only if the weights turn out to differ.
    """
    batch = batch_of(scores, lengths)
    tags = None if gold_tags is None else array(gold_tags)
    of_tokens = np.ones((len(batch.lengths), 1)) if weights is None else _float64(weights)
    values, by_emissions, shared = differentiated(name, batch, tags, of_tokens, is_total=True)
    return Computed(
        rounded(values.reshape(-1), by_emissions.dtype),
        partial(_total_gradients, name, lengths, gold_tags, of_tokens),
        (torch.from_numpy(by_emissions), torch.from_numpy(shared)),
    )


def _total_gradients(
    name: str,
    lengths: torch.Tensor,
    gold_tags: Optional[torch.Tensor],
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
    tags = None if gold_tags is None else array(gold_tags)
    weights = weights * of_rows[:, np.newaxis].astype(np.float64)
    found = differentiated(name, batch_of(scores, lengths), tags, weights, is_total=True)
    return gradients_of(found.by_emissions, found.shared)


def _values(name: str, batch: Batch, gold_tags: np.ndarray) -> torch.Tensor:
    """A primitive's values for each token, (B, T), without weights to differentiate them by."""
    weights = np.zeros(batch.emissions.shape[:2])
    found = differentiated(name, batch, gold_tags, weights, is_total=False)
    return rounded(found.values, batch.emissions.dtype)


def _gradients(
    name: str,
    lengths: torch.Tensor,
    gold_tags: Optional[torch.Tensor],
    scores: ChainScores,
    kept: Tensors,
    weights: torch.Tensor,
) -> Gradients:
    """The gradients of a primitive's values for each token."""
    tags = None if gold_tags is None else array(gold_tags)
    batch = batch_of(scores, lengths)
    found = differentiated(name, batch, tags, _float64(weights), is_total=False)
    return gradients_of(found.by_emissions, found.shared)


def _float64(weights: torch.Tensor) -> np.ndarray:
    return array(weights).astype(np.float64)
