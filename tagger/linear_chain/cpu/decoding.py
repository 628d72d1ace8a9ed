"""Best paths and samples."""

from typing import Tuple

import numpy as np
import torch

from tagger.kernels.compilation import for_row_ranges
from tagger.linear_chain.chain_scores import ChainScores
from tagger.linear_chain.cpu.arrays import array, arrays
from tagger.linear_chain.cpu.kernels.max_sum import best_rows, k_best_rows
from tagger.linear_chain.cpu.kernels.sampling import sample_rows
from tagger.linear_chain.tracing import not_traced


@not_traced
def k_best_decode(
    scores: ChainScores, lengths: torch.Tensor, k: int
) -> Tuple[torch.Tensor, torch.Tensor]:
    """The k best paths, (B, k, T), and their scores, (B, k)."""
    batch_size, num_tokens, num_tags = scores.emissions.shape
    chain = arrays(scores)
    paths = np.zeros((batch_size, k, num_tokens), np.int64)
    path_scores = np.zeros((batch_size, k), chain[0].dtype)
    rows = best_rows if k == 1 else k_best_rows
    for_row_ranges(rows, array(lengths), k * num_tags**2, *chain, paths, path_scores)
    return torch.from_numpy(paths), torch.from_numpy(path_scores)


@not_traced
def sample_paths(
    scores: ChainScores, lengths: torch.Tensor, uniforms: torch.Tensor
) -> torch.Tensor:
    """Paths drawn from p(y | x), (B, S, T), by inverting distributions at `uniforms`, (B, S, T)."""
    paths = np.zeros(uniforms.shape, np.int64)
    work = len(scores.start) * (len(scores.start) + 10 * uniforms.size(1))
    for_row_ranges(sample_rows, array(lengths), work, *arrays(scores), array(uniforms), paths)
    return torch.from_numpy(paths)
