"""Tensors as the arrays that kernels take, and arrays as the gradients that autograd takes."""

from typing import Sequence

import numpy as np
import torch

from tagger.linear_chain.backend import Gradients
from tagger.linear_chain.chain_scores import ChainScores
from tagger.linear_chain.cpu.kernels.batch import Batch


def array(tensor: torch.Tensor) -> np.ndarray:
    """The tensor's memory, or a copy if it is not C-contiguous."""
    return tensor.detach().contiguous().numpy()


def batch_of(scores: ChainScores, lengths: torch.Tensor) -> Batch:
    """The arrays of a batch of chains."""
    emissions, transitions, start, end = scores
    shared = (array(tensor).astype(np.float64, copy=False) for tensor in (transitions, start, end))
    return Batch(array(lengths), array(emissions), *shared)


def exact_batch_of(scores: ChainScores, lengths: torch.Tensor) -> Batch:
    """The same in float64, for what is not called often: its kernels are compiled for one type alone."""
    batch = batch_of(scores, lengths)
    return batch._replace(emissions=batch.emissions.astype(np.float64, copy=False))


def gradients_of(by_emissions: np.ndarray, shared: np.ndarray) -> Gradients:
    """The gradients by the four scores.

    Args:
        by_emissions: (B, T, K).
        shared: The gradients by transitions, start and end, flat and float64, from `sum_of`.
    """
    shared = rounded(shared, by_emissions.dtype).numpy()
    num_tags = by_emissions.shape[2]
    num_pairs = num_tags * num_tags
    parts = (
        by_emissions,
        shared[:num_pairs].reshape(num_tags, num_tags),
        shared[num_pairs : num_pairs + num_tags],
        shared[num_pairs + num_tags :],
    )
    return tuple(map(torch.from_numpy, parts))


def rounded(values: np.ndarray, dtype: np.dtype) -> torch.Tensor:
    """Float64 `values` in the type of the scores, in which the largest are infinite."""
    with np.errstate(over="ignore"):
        return torch.from_numpy(values.astype(dtype))


def sum_of(shared: Sequence[np.ndarray]) -> np.ndarray:
    """The `flat` of the `SharedGradients` of all ranges of rows, summed."""
    return shared[0] if len(shared) == 1 else np.sum(shared, axis=0)
