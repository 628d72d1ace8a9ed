"""Single paths: the best ones, and samples."""

from typing import Tuple

import torch

from tagger.linear_chain import reference
from tagger.linear_chain.chain_scores import ChainScores
from tagger.linear_chain.cuda.language import triton
from tagger.linear_chain.cuda.launches import contiguous, fits, launch_forward, launch_options
from tagger.linear_chain.cuda.max_sum import best_path_kernel
from tagger.linear_chain.cuda.sampling import sample_kernel
from tagger.linear_chain.tracing import not_traced


@not_traced
def k_best_decode(
    scores: ChainScores, lengths: torch.Tensor, k: int
) -> Tuple[torch.Tensor, torch.Tensor]:
    """The k best paths, (B, k, T), and their scores, (B, k)."""
    if k > 1 or not fits(scores):
        return reference.k_best_decode(scores, lengths, k)
    scores = contiguous(scores)
    emissions = scores.emissions
    batch_size, num_tokens, num_tags = emissions.shape
    pointers = torch.empty(emissions.shape, dtype=torch.uint8, device=emissions.device)
    paths = torch.zeros(batch_size, 1, num_tokens, dtype=torch.int64, device=emissions.device)
    path_scores = emissions.new_zeros(batch_size, 1)
    with torch.cuda.device_of(emissions):
        best_path_kernel[(batch_size,)](
            *scores,
            lengths,
            pointers,
            paths,
            path_scores,
            num_tokens,
            num_tags,
            **launch_options(emissions),
        )
    return paths, path_scores


@not_traced
def sample_paths(
    scores: ChainScores, lengths: torch.Tensor, uniforms: torch.Tensor
) -> torch.Tensor:
    """Paths drawn from p(y | x), (B, S, T), by inverting distributions at `uniforms`, (B, S, T)."""
    if not fits(scores):
        return reference.sample_paths(scores, lengths, uniforms)
    scores = contiguous(ChainScores(*(tensor.double() for tensor in scores)))
    messages = torch.empty_like(scores.emissions)
    launch_forward(scores, lengths, messages=messages)
    paths = torch.zeros(uniforms.shape, dtype=torch.int64, device=uniforms.device)
    batch_size, num_samples, num_tokens = uniforms.shape
    with torch.cuda.device_of(messages):
        sample_kernel[(batch_size * num_samples,)](
            messages,
            scores.transitions,
            scores.end,
            lengths,
            uniforms.contiguous(),
            paths,
            num_samples,
            num_tokens,
            messages.size(2),
            TAGS=triton.next_power_of_2(messages.size(2)),
            num_warps=1,
        )
    return paths
