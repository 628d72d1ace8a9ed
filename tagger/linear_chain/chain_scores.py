"""The scores that define a linear chain, and the checks that they have to pass."""

from typing import NamedTuple, Optional

import torch


class ChainScores(NamedTuple):
    """The four score tensors of a batch of linear chains, in nats.

    The score of a path is `start[y_1] + sum_t emissions[t, y_t] + sum_t transitions[y_{t-1}, y_t] +
    end[y_T]`. A score of -inf makes a tag or a transition impossible.

    Args:
        emissions: (B, T, K), the score of each tag at each token.
        transitions: (K, K), `transitions[i, j]` from tag i to tag j.
        start: (K,), the score of opening a sequence with each tag.
        end: (K,), the score of closing a sequence with each tag.
    """

    emissions: torch.Tensor
    transitions: torch.Tensor
    start: torch.Tensor
    end: torch.Tensor


def checked_scores(scores: ChainScores) -> ChainScores:
    """Returns `scores` in one floating-point type, at least float32.

    Raises:
        ValueError: if a shape does not fit the emissions'.
        TypeError: if a tensor does not hold floating-point numbers.
    """
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


def checked_lengths(mask: Optional[torch.Tensor], emissions: torch.Tensor) -> torch.Tensor:
    """Returns how many tokens of each row are real, (B,) int64.

    Args:
        mask: (B, T), true at real tokens; or (B,) int64 lengths; or `None` where all are real.
        emissions: (B, T, K).

    Raises:
        ValueError: if a shape does not fit, a length is out of range, or a row has a hole.
    """
    batch_size, num_tokens = emissions.shape[:2]
    if mask is None:
        return torch.full((batch_size,), num_tokens, device=emissions.device)
    if mask.dim() == 1 and mask.dtype == torch.int64 and len(mask) == batch_size:
        if bool(((mask < 0) | (mask > num_tokens)).any()):
            raise ValueError(f"`mask` holds lengths outside 0 to {num_tokens}: {mask.tolist()}")
        return mask
    if mask.shape != (batch_size, num_tokens):
        raise ValueError(
            f"`mask` must be ({batch_size}, {num_tokens}) as the emissions' first two dimensions, "
            f"or {batch_size} int64 lengths; got {mask.dtype} of shape {tuple(mask.shape)}"
        )
    mask = mask.bool()
    # (B, T - 1): a real token after a masked one
    rises = mask[:, 1:] > mask[:, :-1]
    if bool(rises.any()):
        row = int(rises.any(1).nonzero()[0])
        raise ValueError(
            f"`mask` must be right-padded: row {row} has a real token after a masked one; move the "
            f"padding to the end"
        )
    return mask.sum(1)


def checked_tags(
    tags: torch.Tensor, lengths: torch.Tensor, emissions: torch.Tensor
) -> torch.Tensor:
    """Returns `tags` as int64.

    Raises:
        ValueError: if the shape is not the emissions', or a real token's tag is not in [0, K).
    """
    batch_size, num_tokens, num_tags = emissions.shape
    if tags.shape != (batch_size, num_tokens):
        raise ValueError(
            f"`tags` must have shape {(batch_size, num_tokens)} as the emissions' first two "
            f"dimensions; got {tuple(tags.shape)}"
        )
    wrong = (tags < 0) | (tags >= num_tags)
    if bool(wrong.any()):
        # What lies in the padding is nobody's concern.
        wrong &= torch.arange(num_tokens, device=tags.device) < lengths.unsqueeze(1)
        for row, token in wrong.nonzero().tolist():
            raise ValueError(
                f"`tags` must lie in 0 to {num_tags - 1} at real tokens; row {row} has "
                f"{int(tags[row, token])} at token {token}"
            )
    return tags.long()
