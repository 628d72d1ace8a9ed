"""The primitives of the CPU backend; see `tagger.linear_chain.backend` for what each returns.

Letters: `B` rows (sequences), `T` tokens, `K` tags.
"""

from functools import partial
from typing import Callable, Dict, NamedTuple, Optional, Tuple

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
    set_conditional_gradient_rows,
    set_conditional_rows,
)
from tagger.linear_chain.cpu.kernels.marginals import marginal_gradient_rows, marginal_rows
from tagger.linear_chain.cpu.kernels.max_sum import best_rows, k_best_rows
from tagger.linear_chain.cpu.kernels.sampling import sample_rows
from tagger.linear_chain.cpu.kernels.sum_product import (
    forward_rows,
    gradient_rows,
    set_gradient_rows,
    transition_marginal_rows,
)


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
    for_row_ranges(forward_rows, batch.lengths, num_tags**2, batch, path, is_total, values)
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
    tags = None if gold_tags is None else array(gold_tags)
    shape = batch.emissions.shape
    values = np.zeros(shape if tags is None else shape[:2], batch.emissions.dtype)
    for_row_ranges(marginal_rows, batch.lengths, 2 * shape[2] ** 2, batch, tags, values)
    return Computed(torch.from_numpy(values), partial(_gradients, "marginals", lengths, gold_tags))


def conditionals(
    scores: ChainScores, lengths: torch.Tensor, gold_tags: torch.Tensor, with_gradients: bool
) -> Computed:
    """log p(y_t | y_{t-1}, x) of a path or of sets of tags."""
    batch, tags = batch_of(scores, lengths), array(gold_tags)
    shape = batch.emissions.shape
    values = np.zeros(shape[:2], batch.emissions.dtype)
    rows = conditional_rows if tags.ndim == 2 else set_conditional_rows
    for_row_ranges(rows, batch.lengths, shape[2] ** 2, batch, tags, values)
    return Computed(
        torch.from_numpy(values), partial(_gradients, "conditionals", lengths, gold_tags)
    )


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


class _Differentiated(NamedTuple):
    """What a kernel computes together with derivatives.

    Args:
        values: Float64; as the kernel's docstring says.
        by_emissions: (B, T, K), the gradient in the type of the emissions.
        shared: The gradients by the other scores, flat, float64.
    """

    values: np.ndarray
    by_emissions: np.ndarray
    shared: np.ndarray


def _differentiated(
    name: str, batch: Batch, gold_tags: Optional[np.ndarray], weights: np.ndarray, is_total: bool
) -> _Differentiated:
    """Differentiates the sum of `weights` times the values of a primitive.

    Args:
        name: Of the primitive.
        batch: A batch of B rows.
        gold_tags: As the primitive takes them; for totals of steps also sets.
        weights: Float64, as the kernels take them.
        is_total: Whether to sum over tokens.
    """
    are_sets = gold_tags is not None and gold_tags.ndim == 3
    rows, work = (_SET_GRADIENT_KERNELS if are_sets else _GRADIENT_KERNELS)[name]
    batch_size, num_tokens, num_tags = batch.emissions.shape
    values = np.zeros((batch_size, 1 if is_total else num_tokens))
    by_emissions = np.zeros(batch.emissions.shape, batch.emissions.dtype)
    arguments = (batch, gold_tags, weights, is_total, values, by_emissions)
    shared = for_row_ranges(rows, batch.lengths, work * num_tags**2, *arguments)
    return _Differentiated(values, by_emissions, sum_of(shared))


#: The kernel that differentiates each primitive, and its multiply-adds for each pair of tags.
_GRADIENT_KERNELS: Dict[str, Tuple[Callable, int]] = {
    "steps": (gradient_rows, 3),
    "conditionals": (conditional_gradient_rows, 3),
    "marginals": (marginal_gradient_rows, 6),
}
#: The same for sets of gold tags; logarithms take longer than multiply-adds.
_SET_GRADIENT_KERNELS: Dict[str, Tuple[Callable, int]] = {
    "steps": (set_gradient_rows, 6),
    "conditionals": (set_conditional_gradient_rows, 60),
    "marginals": (marginal_gradient_rows, 6),
}


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
    values, by_emissions, shared = _differentiated(name, batch, tags, of_tokens, is_total=True)
    return Computed(
        torch.from_numpy(values.reshape(-1).astype(by_emissions.dtype)),
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
    found = _differentiated(name, batch_of(scores, lengths), tags, weights, is_total=True)
    return gradients_of(found.by_emissions, found.shared)


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
    found = _differentiated(name, batch, tags, _float64(weights), is_total=False)
    return gradients_of(found.by_emissions, found.shared)


def _float64(weights: torch.Tensor) -> np.ndarray:
    return array(weights).astype(np.float64)
