"""The checks that arguments pass once, at the public functions.

Letters: `B` rows (sequences), `T` tokens, `K` tags.
"""

from typing import Any, Optional, Tuple

import numpy as np
import torch

from tagger.linear_chain.chain_scores import ChainScores, allowed_tags
from tagger.linear_chain.padding import real_tokens
from tagger.linear_chain.tracing import not_traced

try:
    from tagger.linear_chain.cpu.kernels.checks import count_real_tokens, count_unknown, lie_below
except ImportError:  # no Numba
    count_real_tokens = count_unknown = lie_below = None  # type: ignore[assignment]

_COMPUTED_TYPES = (torch.float32, torch.float64)


def checked(scores: ChainScores, mask: Optional[torch.Tensor]) -> Tuple[ChainScores, torch.Tensor]:
    """Returns `checked_scores`, and the number of real tokens of each row, (B,) int64."""
    scores = checked_scores(scores)
    return scores, _lengths(mask, scores.emissions)


def checked_scores(scores: ChainScores) -> ChainScores:
    """Returns `scores` in one floating-point type, at least float32.

    Raises:
        ValueError: If a shape does not fit the emissions'.
        TypeError: If a tensor does not hold floating-point numbers.
    """
    emissions, transitions, start, end = scores
    dtype, shape = emissions.dtype, emissions.shape[-1:]
    if (
        emissions.dim() == 3
        and dtype in _COMPUTED_TYPES
        and dtype == transitions.dtype == start.dtype == end.dtype
        and transitions.shape == shape * 2
        and start.shape == end.shape == shape
    ):
        return scores
    return _converted(scores)


def _converted(scores: ChainScores) -> ChainScores:
    emissions = scores.emissions
    if emissions.dim() != 3:
        raise ValueError(f"`emissions` must be (B, T, K); got shape {tuple(emissions.shape)}")
    num_tags = emissions.size(2)
    shapes = {"transitions": (num_tags, num_tags), "start": (num_tags,), "end": (num_tags,)}
    for name, shape in shapes.items():
        if getattr(scores, name).shape != shape:
            raise ValueError(
                f"`{name}` must have shape {shape} to fit the emissions' {num_tags} tags; "
                f"got {tuple(getattr(scores, name).shape)}"
            )
    dtype = torch.float32
    for name, tensor in scores._asdict().items():
        if not tensor.is_floating_point():
            raise TypeError(
                f"`{name}` must hold floating-point scores; got {tensor.dtype}, convert it first"
            )
        dtype = torch.promote_types(dtype, tensor.dtype)
    return ChainScores(*(tensor.to(dtype) for tensor in scores))


@not_traced
def checked_lengths(mask: Optional[torch.Tensor], emissions: torch.Tensor) -> torch.Tensor:
    """Returns the number of real tokens of each row, (B,) int64.

    Args:
        mask: (B, T), true at real tokens; or (B,) int64 lengths; or `None` where all tokens are real.
        emissions: (B, T, K).

    Raises:
        ValueError: If a shape does not fit, a length is out of range, or a row has a hole.
    """
    return _lengths(mask, emissions)


def _lengths(mask: Optional[torch.Tensor], emissions: torch.Tensor) -> torch.Tensor:
    batch_size, num_tokens, _ = emissions.shape
    if mask is None:
        return torch.full((batch_size,), num_tokens, device=emissions.device)
    if mask.dim() == 1 and mask.dtype == torch.int64 and len(mask) == batch_size:
        if (
            lie_below is not None
            and _is_plain_array(mask)
            and lie_below(mask.numpy().reshape(1, -1), num_tokens + 1)
        ):
            return mask
        lengths = _array_on_cpu(mask)
        if bool(((lengths < 0) | (lengths > num_tokens)).any()):
            raise ValueError(f"`mask` holds lengths outside 0 to {num_tokens}: {mask.tolist()}")
        return mask
    if mask.shape != (batch_size, num_tokens):
        raise ValueError(
            f"`mask` must be ({batch_size}, {num_tokens}) as the emissions' first two dimensions, "
            f"or {batch_size} int64 lengths; got {mask.dtype} of shape {tuple(mask.shape)}"
        )
    if count_real_tokens is not None and mask.dtype == torch.bool and _is_plain_array(mask):
        counts = np.empty(batch_size, np.int64)
        if count_real_tokens(mask.numpy(), counts):
            return torch.from_numpy(counts)
    is_real = _array_on_cpu(mask.bool())
    # (B, T - 1): a real token after a masked one
    rises = is_real[:, 1:] > is_real[:, :-1]
    if bool(rises.any()):
        row = rises.any(1).tolist().index(True)
        raise ValueError(
            f"`mask` must be right-padded: row {row} has a real token after a masked one; move the "
            f"padding to the end"
        )
    lengths = is_real.sum(1)
    return lengths if isinstance(lengths, torch.Tensor) else torch.from_numpy(lengths)


def checked_gold_tags(
    gold_tags: torch.Tensor,
    lengths: torch.Tensor,
    emissions: torch.Tensor,
    name: str = "gold_tags",
) -> torch.Tensor:
    """Returns the gold tags in the form that the implementations take.

    Args:
        gold_tags: (B, T) int64, -1 where the tag is unknown; or (B, T, K) bool, true for the tags that
            a token may have.
        lengths: (B,) int64.
        emissions: (B, T, K).
        name: The argument that errors name.

    Returns:
        (B, T) int64 if every real token's tag is known; else (B, T, K) bool.

    Raises:
        ValueError: If the shape does not fit the emissions', a real token's tag is out of range, or a
            real token may have no tag.
    """
    batch_size, num_tokens, num_tags = emissions.shape
    if gold_tags.dtype == torch.bool and gold_tags.shape == emissions.shape:
        is_empty = ~gold_tags.any(2) & real_tokens(lengths, num_tokens)
        for row, token in is_empty.nonzero().tolist():
            raise ValueError(
                f"`{name}` must allow each real token at least one tag; row {row} allows token {token} "
                f"none"
            )
        return gold_tags
    if gold_tags.shape != (batch_size, num_tokens):
        raise ValueError(
            f"`{name}` must have shape {(batch_size, num_tokens)} as the emissions' first two "
            f"dimensions, or be bool of shape {tuple(emissions.shape)}; got {gold_tags.dtype} of shape "
            f"{tuple(gold_tags.shape)}"
        )
    if lie_below is not None and gold_tags.dtype == torch.int64 and _is_plain_array(gold_tags):
        if lie_below(gold_tags.numpy(), num_tags):
            return gold_tags
        allowed = np.zeros(emissions.shape, np.bool_)
        num_unknown = count_unknown(gold_tags.numpy(), lengths.contiguous().numpy(), allowed)
        if num_unknown >= 0:
            return torch.from_numpy(allowed) if num_unknown else gold_tags
    array = _array_on_cpu(gold_tags)
    if not bool(((array < 0) | (array >= num_tags)).any()):
        return gold_tags.long()
    # Tags in the padding do not matter.
    is_outside = ((gold_tags < 0) | (gold_tags >= num_tags)) & real_tokens(lengths, num_tokens)
    for row, token in (is_outside & (gold_tags != -1)).nonzero().tolist():
        raise ValueError(
            f"`{name}` must lie in 0 to {num_tags - 1} at real tokens, or be -1 where unknown; row "
            f"{row} has {int(gold_tags[row, token])} at token {token}"
        )
    if not bool(is_outside.any()):
        return gold_tags.long()
    return allowed_tags(gold_tags, num_tags)


def checked_path(
    tags: torch.Tensor, lengths: torch.Tensor, emissions: torch.Tensor
) -> torch.Tensor:
    """Returns the path `tags`, (B, T), as int64.

    Raises:
        ValueError: As `checked_gold_tags` does, and if a real token's tag is unknown.
    """
    path = checked_gold_tags(tags, lengths, emissions, name="tags")
    if path.dim() == 3:
        raise ValueError(
            "`tags` must name one tag for every real token: a path with unknown tags has no score; "
            "`log_likelihood` takes them"
        )
    return path


def _is_plain_array(tensor: torch.Tensor) -> bool:
    """Whether kernels can take the tensor's memory as it is."""
    return tensor.device.type == "cpu" and tensor.is_contiguous()


def _array_on_cpu(tensor: torch.Tensor) -> Any:
    """A tensor on a CPU as an array, any other as it is.

    PyTorch spreads even small checks over threads. On a busy machine these wait for one another longer
    than the check takes.
    """
    return tensor.numpy() if tensor.device.type == "cpu" else tensor
