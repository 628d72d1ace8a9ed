"""Values of primitives with their derivatives, in probability space or, where that fails, in log space.

Letters: `B` rows (sequences), `T` tokens, `K` tags.
"""

from functools import partial
from typing import Callable, Dict, NamedTuple, Optional, Tuple

import numpy as np

from tagger.kernels.compilation import for_row_ranges
from tagger.linear_chain.cpu.arrays import sum_of
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

#: The kernel that differentiates a primitive for a path, for sets of tags or for no gold tags, and its
#: multiply-adds for each pair of tags. What is not here is computed in log space.
_KERNELS: Dict[Tuple[str, str], Tuple[Callable, int]] = {
    ("steps", "none"): (gradient_rows, 3),
    ("steps", "path"): (gradient_rows, 3),
    ("steps", "sets"): (set_gradient_rows, 6),
    ("conditionals", "path"): (conditional_gradient_rows, 3),
    ("marginals", "none"): (marginal_gradient_rows, 6),
    ("marginals", "path"): (marginal_gradient_rows, 6),
    ("marginals", "sets"): (marginal_gradient_rows, 6),
}
#: The same in log space. Kernels over shares take a path as sets.
_LOG_KERNELS: Dict[Tuple[str, str], Callable] = {
    ("steps", "none"): log_gradient_rows,
    ("steps", "path"): log_gradient_rows,
    ("steps", "sets"): log_set_gradient_rows,
    ("conditionals", "sets"): partial(log_share_rows, given_gold=True),
    ("marginals", "none"): log_marginal_rows,
    ("marginals", "sets"): partial(log_share_rows, given_gold=False),
}
#: Of each of them, for each pair of tags: logarithms take longer than multiply-adds.
_LOG_WORK = 60


class Differentiated(NamedTuple):
    """What a kernel computes together with derivatives.

    Args:
        values: Float64: (B, T), or of totals (B, 1), or of the marginals of all tags (B, T, K).
        by_emissions: (B, T, K), the gradient in the type of the emissions.
        shared: The gradients by the other scores, flat, float64.
    """

    values: np.ndarray
    by_emissions: np.ndarray
    shared: np.ndarray


def differentiated(
    name: str, batch: Batch, gold_tags: Optional[np.ndarray], weights: np.ndarray, is_total: bool
) -> Differentiated:
    """Differentiates the sum of `weights` times the values of a primitive.

    Args:
        name: Of the primitive.
        batch: A batch of B rows.
        gold_tags: As the primitive takes them; for totals of steps also sets.
        weights: Float64, as the kernels take them.
        is_total: Whether to sum over tokens.
    """
    batch_size, _, num_tags = batch.emissions.shape
    if (name, _kind_of(gold_tags)) not in _KERNELS:
        every_row = np.ones(batch_size, np.bool_)
        return differentiated_in_log_space(name, batch, gold_tags, weights, is_total, every_row)
    rows, work = _KERNELS[name, _kind_of(gold_tags)]
    values = np.zeros(_shape_of_values(weights, batch, is_total))
    by_emissions = np.zeros(batch.emissions.shape, batch.emissions.dtype)
    left = np.zeros(batch_size, np.bool_)
    arguments = (batch, gold_tags, weights, is_total, values, by_emissions, left)
    shared = sum_of(for_row_ranges(rows, batch.lengths, work * num_tags**2, *arguments))
    if left.any():
        exact = differentiated_in_log_space(name, batch, gold_tags, weights, is_total, left)
        values[left], by_emissions[left] = exact.values, exact.by_emissions
        shared = shared + exact.shared
    return Differentiated(values, by_emissions, shared)


def differentiated_in_log_space(
    name: str,
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
    if tags is not None and tags.ndim == 2 and name != "steps":
        tags = tags[:, :, np.newaxis] == np.arange(emissions.shape[2])
    rows = _LOG_KERNELS[name, _kind_of(tags)]
    values = np.zeros(_shape_of_values(weights, part, is_total))
    by_emissions = np.zeros_like(part.emissions)
    arguments = (part, tags, weights, is_total, values, by_emissions)
    work = _LOG_WORK * emissions.shape[2] ** 2
    shared = sum_of(for_row_ranges(rows, part.lengths, work, *arguments))
    return Differentiated(values, by_emissions.astype(emissions.dtype), shared)


def _kind_of(gold_tags: Optional[np.ndarray]) -> str:
    if gold_tags is None:
        return "none"
    return "path" if gold_tags.ndim == 2 else "sets"


def _shape_of_values(weights: np.ndarray, batch: Batch, is_total: bool) -> Tuple[int, ...]:
    if weights.ndim == 3:
        return weights.shape
    return len(weights), 1 if is_total else batch.emissions.shape[1]
