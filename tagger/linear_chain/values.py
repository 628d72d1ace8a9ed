"""Value checks that avoid synchronising with the GPU.

Letters: `B` rows (sequences), `T` tokens.
"""

from typing import Optional

import numpy as np
import torch

from tagger.linear_chain import checks
from tagger.linear_chain.chain_scores import ChainScores
from tagger.linear_chain.padding import real_tokens, without_padding
from tagger.linear_chain.tracing import is_transformed


def check_is_right_padded(mask: torch.Tensor, emissions: torch.Tensor) -> None:
    """Checks a mask for functions outside this folder that need right-padded rows.

    Args:
        mask: As for every function of the chain (see `tagger.linear_chain.functions`).
        emissions: (B, T, K).

    Raises:
        ValueError: If the mask does not fit, or a row has a real token after a masked one.
    """
    _, holes = checks.checked_mask(mask, emissions)
    if holes is not None:
        rises = (holes[:, 1:] & ~holes[:, :-1]).any(1)
        raise ValueError(
            f"`mask` must be right-padded here: row {rises.tolist().index(True)} has a real token after "
            f"a masked one; take masked tokens out with `tagger.linear_chain.compacted`"
        )


def has_finite_sum(tensor: torch.Tensor) -> bool:
    """Whether the sum of a CPU tensor is finite; true on other devices, to avoid a sync."""
    if checks.is_elsewhere(tensor) or is_transformed():
        return True
    with np.errstate(invalid="ignore", over="ignore"):
        return bool(np.isfinite(tensor.detach().numpy().sum()))


def has_no_number(scores: ChainScores, lengths: torch.Tensor) -> Optional[torch.Tensor]:
    """Which rows hold NaN or +inf at a real token, or in the scores that all tokens share.

    Returns:
        (B,) bool; or `None` if there is no such row, which a single sum usually shows. Never `None` on
        a GPU, to avoid a sync.
    """
    emissions, transitions, start, end = scores
    if (checks.is_elsewhere(emissions) or is_transformed()) and emissions.numel():
        is_real = real_tokens(lengths, emissions.size(1))
        # (B, T), then (B,): the largest scores, which are NaN if any score is
        tops = without_padding(emissions.amax(2), is_real).amax(1)
        shared = torch.stack([transitions.amax(), start.amax(), end.amax()]).amax()
        return ~((tops < torch.inf) & (shared < torch.inf))
    with np.errstate(invalid="ignore", over="ignore"):
        total = float(sum(checks.array_on_cpu(tensor.detach()).sum() for tensor in scores))
    if total < torch.inf:
        return None
    is_real = real_tokens(lengths, emissions.size(1)).unsqueeze(2)
    is_spoilt = (_is_no_number(emissions) & is_real).flatten(1).any(1)
    for tensor in (transitions, start, end):
        is_spoilt = is_spoilt | _is_no_number(tensor).any()
    return is_spoilt if bool(is_spoilt.any()) else None


def _is_no_number(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.isnan() | (tensor == torch.inf)
