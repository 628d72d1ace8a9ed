"""Launches the kernels.

Each thread keeps the transitions in up to 48 registers; the adjoint uses as many again for their
transpose, and for their derivatives. `scripts/experiments/report_kernels.py` prints what each
compiled kernel uses. On an H100, with 4,096 rows and 9, 25, 33 or 73 tags, other tiles and more
warps were slower.
"""

from typing import Dict, Optional, Tuple

import torch

from tagger.linear_chain.chain_scores import ChainScores
from tagger.linear_chain.cuda.language import triton
from tagger.linear_chain.cuda.sum_product import adjoint_kernel, forward_kernel

# The transitions and derivatives of more tags do not fit into the registers of a multiprocessor.
_MAX_TAGS = 128
# For the transitions, in each thread. With more, the adjoint spills.
_MAX_REGISTERS = 48
_REGISTERS_OF_A_PROCESSOR = 65536
# With a tile of 64 and a rest of 32, the adjoint fails on an H100: "misaligned address" (Triton 3.6).
_MOST_TAGS_IN_A_REST = 16
# Bounds the scratch memory: each program has its own matrices of derivatives.
_MAX_PROGRAMS = 4096
# Terms underflow below 1e-38 and 2e-308: too small to change a digit of a sum of at least this size.
_TINY = {torch.float32: 1e-28, torch.float64: 1e-290}


def fits(scores: ChainScores) -> bool:
    """Returns whether the kernels can compute this chain."""
    return scores.emissions.numel() > 0 and len(scores.start) <= _MAX_TAGS


def contiguous(scores: ChainScores) -> ChainScores:
    """Returns `scores`, detached, in the layout that the kernels expect."""
    return ChainScores(*(tensor.detach().contiguous() for tensor in scores))


def launch_options(emissions: torch.Tensor) -> Dict[str, int]:
    """Returns the sides of the tiles, and enough warps for the registers that the transitions need.

    Up to 32 tags fit into one warp. More tags are split into a power of two and a rest, which is also
    padded to a power of two, unless the rest is more than 16 tags.
    """
    num_tags = emissions.size(2)
    tags, rest = triton.next_power_of_2(num_tags), 0
    if tags > 32 and num_tags - tags // 2 <= _MOST_TAGS_IN_A_REST:
        tags //= 2
        rest = triton.next_power_of_2(num_tags - tags)
    registers = (tags + rest) ** 2 * emissions.element_size() // 4
    num_warps = triton.next_power_of_2(triton.cdiv(registers, _MAX_REGISTERS * 32))
    return {"TAGS": tags, "REST": rest, "num_warps": min(num_warps, 16)}


def launch_forward(
    scores: ChainScores,
    lengths: torch.Tensor,
    tags: Optional[torch.Tensor] = None,
    messages: Optional[torch.Tensor] = None,
    arrivals: Optional[torch.Tensor] = None,
    from_the_end: bool = False,
) -> torch.Tensor:
    """Launches `forward_kernel`, and returns its values, (B, T)."""
    emissions, transitions, start, end = contiguous(_directed(scores, from_the_end))
    batch_size, num_tokens, num_tags = emissions.shape
    values = emissions.new_zeros(batch_size, num_tokens)
    with torch.cuda.device_of(emissions):
        forward_kernel[(batch_size,)](
            emissions,
            transitions,
            start,
            end,
            lengths,
            None if tags is None else tags.contiguous(),
            values,
            messages,
            arrivals,
            num_tokens,
            num_tags,
            TINY=_TINY[emissions.dtype],
            FROM_THE_END=from_the_end,
            **launch_options(emissions),
        )
    return values


def launch_adjoint(
    scores: ChainScores,
    lengths: torch.Tensor,
    messages: torch.Tensor,
    upstream: torch.Tensor,
    values: Optional[torch.Tensor] = None,
    tags: Optional[torch.Tensor] = None,
    from_the_end: bool = False,
) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Launches `adjoint_kernel`.

    `upstream` are the weights of the `values`, (B, T), or if there are none, of the arrivals, (B, T, K).

    Returns the derivatives with respect to the emissions, (B, T, K), the transitions, (K, K), and the
    start and end scores, (2, K); of arrivals, only the first of these two rows counts, which holds those
    with respect to the end scores if `from_the_end`.
    """
    of_arrivals = values is None
    if of_arrivals:
        upstream = upstream.contiguous()
    batch_size, num_tokens, num_tags = messages.shape
    num_programs = min(batch_size, _MAX_PROGRAMS)
    _, transitions, _, end = contiguous(_directed(scores, from_the_end))
    by_emissions = torch.empty_like(messages)
    by_ends = messages.new_zeros(batch_size, 2, num_tags)
    options = launch_options(messages)
    pairs = messages.new_zeros(num_programs, 2, num_tags, num_tags)
    with torch.cuda.device_of(messages):
        adjoint_kernel[(num_programs,)](
            messages,
            transitions,
            transitions.t().contiguous(),
            end,
            lengths,
            None if tags is None else tags.contiguous(),
            upstream,
            by_emissions,
            by_ends,
            pairs,
            values,
            batch_size,
            num_tokens,
            num_tags,
            *upstream.stride()[:2],
            *((0, 0) if values is None else values.stride()),
            TINY=_TINY[messages.dtype],
            OF_ARRIVALS=of_arrivals,
            FROM_THE_END=from_the_end,
            # Without this, the compiler spills registers so that more programs fit.
            maxnreg=min(_REGISTERS_OF_A_PROCESSOR // (32 * options["num_warps"]), 255),
            **options,
        )
    by_transitions = pairs.sum((0, 1))
    if from_the_end:
        by_transitions = by_transitions.t()
    return by_emissions, by_transitions, by_ends.sum(0)


def _directed(scores: ChainScores, from_the_end: bool) -> ChainScores:
    """Returns `scores`, or those of the reversed chain if `from_the_end`."""
    if not from_the_end:
        return scores
    return ChainScores(scores.emissions, scores.transitions.t(), scores.end, scores.start)
