"""Runs kernels that compute values together with their derivatives.

Letters: `B` rows (sequences), `T` tokens, `K` tags.
"""

from functools import partial
from typing import Any, Callable, NamedTuple, Optional, Tuple

import numpy as np
import torch

from tagger.linear_chain.autograd import Computed, Gradients, Tensors
from tagger.linear_chain.chain_scores import ChainScores
from tagger.linear_chain.cpu.kernels.batch import Batch
from tagger.linear_chain.kernels.compilation import for_row_ranges


class Kernel(NamedTuple):
    """A kernel for one function and its derivatives; `work` is its multiply-adds per pair of tags."""

    rows: Callable[..., Any]
    work: int
    #: Further arguments of `rows`.
    options: Tuple[Any, ...] = ()


# What kernels get for gold tags that are not given.
_NO_PATH, _NO_SETS = np.zeros((0, 0), np.int64), np.zeros((0, 0, 0), bool)


class Differentiated(NamedTuple):
    """The values and gradients that a kernel computes."""

    #: (B, T), or (B, 1) for totals, float64.
    values: np.ndarray
    #: (B, T, K), the gradient in the type of the emissions, empty unless asked for.
    by_emissions: np.ndarray
    #: The gradients with respect to the other scores, flat, float64.
    shared: np.ndarray


def computed(
    kernel: Kernel,
    scores: ChainScores,
    gold_tags: Optional[torch.Tensor],
    lengths: torch.Tensor,
    weights: Optional[torch.Tensor],
    is_total: bool,
    with_gradients: bool,
) -> Computed:
    """Computes a function for each token, (B, T), or its (weighted) sum over each row, (B,).

    In the backward pass, all rows of a sum usually have the same weight. So the gradients for weight 1
    are computed along with the sum, and computed again only if the weights turn out to differ. The
    values of tokens are differentiated in the backward pass, when their weights are known.
    """
    batch, dtype = batch_of(scores, lengths), scores.emissions.dtype
    # A copy, because the caller may change the weights before the backward pass.
    of_tokens = (
        np.ones((len(batch.lengths), 1)) if weights is None else array(weights).astype(np.float64)
    )
    with_gradients = with_gradients and is_total
    found = differentiated(kernel, batch, gold_tags, of_tokens, is_total, with_gradients)
    values = rounded(found.values[:, 0] if is_total else found.values, dtype)
    if not is_total:
        return Computed(values, partial(gradients, kernel, gold_tags, lengths))
    if not with_gradients:
        return Computed(values)
    return Computed(
        values,
        partial(_total_gradients, kernel, gold_tags, lengths, of_tokens),
        (torch.from_numpy(found.by_emissions), torch.from_numpy(found.shared)),
    )


def gradients(
    kernel: Kernel,
    gold_tags: Optional[torch.Tensor],
    lengths: torch.Tensor,
    scores: ChainScores,
    kept: Tensors,
    weights: torch.Tensor,
) -> Gradients:
    """The gradients of a function's values for each token."""
    batch = batch_of(scores, lengths)
    found = differentiated(kernel, batch, gold_tags, _float64(weights), False)
    return _gradients_of(torch.from_numpy(found.by_emissions), torch.from_numpy(found.shared))


def _total_gradients(
    kernel: Kernel,
    gold_tags: Optional[torch.Tensor],
    lengths: torch.Tensor,
    weights: np.ndarray,
    scores: ChainScores,
    kept: Tensors,
    upstream: torch.Tensor,
) -> Gradients:
    """The gradients of totals; `kept` are those for an upstream gradient of 1."""
    of_rows = upstream.numpy()
    # If the loss is a sum over rows, all rows have the same gradient.
    if len(of_rows) < 2 or of_rows.strides == (0,) or (of_rows == of_rows[0]).all():
        factor = of_rows[0] if len(of_rows) else 1.0
        return _gradients_of(*(torch.from_numpy(gradient.numpy() * factor) for gradient in kept))
    weights = weights * of_rows[:, np.newaxis].astype(np.float64)
    found = differentiated(kernel, batch_of(scores, lengths), gold_tags, weights, True)
    return _gradients_of(torch.from_numpy(found.by_emissions), torch.from_numpy(found.shared))


def differentiated(
    kernel: Kernel,
    batch: Batch,
    gold_tags: Optional[torch.Tensor],
    weights: np.ndarray,
    is_total: bool,
    with_gradients: bool = True,
) -> Differentiated:
    """Computes a function and, with gradients, the derivatives of its sum times `weights`.

    `weights` are those of tokens, (B, T) or (B, 1), or of all tags, (B, T, K).
    """
    shape = batch.emissions.shape
    values = np.zeros((shape[0], 1 if is_total else shape[1]))
    by_emissions = np.zeros(shape if with_gradients else (0, 0, 0), batch.emissions.dtype)
    path, sets = _NO_PATH, _NO_SETS
    if gold_tags is not None and gold_tags.dim() == 2:
        path = array(gold_tags)
    elif gold_tags is not None:
        sets = array(gold_tags)
    of_tags = weights if weights.ndim == 3 else weights[:, :, np.newaxis]
    arguments = (batch, path, sets, of_tags, is_total, values, by_emissions, *kernel.options)
    shared = for_row_ranges(kernel.rows, batch.lengths, kernel.work * shape[2] ** 2, *arguments)
    total = shared[0] if len(shared) == 1 else np.sum(shared, axis=0)
    return Differentiated(values, by_emissions, total)


def array(tensor: torch.Tensor) -> np.ndarray:
    """The tensor as an array, copied only if it is not C-contiguous."""
    return tensor.detach().contiguous().numpy()


def batch_of(scores: ChainScores, lengths: torch.Tensor) -> Batch:
    """The arrays of a batch of chains, with the emissions in their own type."""
    emissions, *shared = scores
    return Batch(array(lengths), array(emissions), *map(_float64, shared))


def _float64(tensor: torch.Tensor) -> np.ndarray:
    return array(tensor).astype(np.float64, copy=False)


def rounded(values: np.ndarray, dtype: torch.dtype) -> torch.Tensor:
    """Float64 `values` in the type of the scores; numbers that are too large become infinite."""
    return torch.from_numpy(values).to(dtype)


def _gradients_of(by_emissions: torch.Tensor, shared: torch.Tensor) -> Gradients:
    """Splits the two gradients of a kernel into those of the four scores."""
    flat, num_tags = shared.to(by_emissions.dtype), by_emissions.size(2)
    pairs, ends = flat[: -2 * num_tags].view(num_tags, num_tags), flat[-2 * num_tags :]
    return by_emissions, pairs, ends[:num_tags], ends[num_tags:]
