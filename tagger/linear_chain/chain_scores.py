"""The scores that define a linear chain, and the checks that they have to pass."""

from typing import Any, NamedTuple, Optional, Tuple

import torch

from tagger.linear_chain.tracing import not_traced


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


def checked(scores: ChainScores, mask: Optional[torch.Tensor]) -> Tuple[ChainScores, torch.Tensor]:
    """Returns `checked_scores` and `checked_lengths`."""
    scores = checked_scores(scores)
    return scores, checked_lengths(mask, scores.emissions)


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


@not_traced
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
        lengths = _array_on_cpu(mask)
        if bool(((lengths < 0) | (lengths > num_tokens)).any()):
            raise ValueError(f"`mask` holds lengths outside 0 to {num_tokens}: {mask.tolist()}")
        return mask
    if mask.shape != (batch_size, num_tokens):
        raise ValueError(
            f"`mask` must be ({batch_size}, {num_tokens}) as the emissions' first two dimensions, "
            f"or {batch_size} int64 lengths; got {mask.dtype} of shape {tuple(mask.shape)}"
        )
    mask = _array_on_cpu(mask.bool())
    # (B, T - 1): a real token after a masked one
    rises = mask[:, 1:] > mask[:, :-1]
    if bool(rises.any()):
        row = rises.any(1).tolist().index(True)
        raise ValueError(
            f"`mask` must be right-padded: row {row} has a real token after a masked one; move the "
            f"padding to the end"
        )
    return torch.as_tensor(mask.sum(1))


def real_tokens(lengths: torch.Tensor, num_tokens: int) -> torch.Tensor:
    """Which tokens of each row are real, (B, T) bool.

    Args:
        lengths: (B,), how many of them are.
        num_tokens: T.
    """
    return torch.arange(num_tokens, device=lengths.device) < lengths.unsqueeze(1)


@not_traced
def checked_labels(
    tags: torch.Tensor, lengths: torch.Tensor, emissions: torch.Tensor
) -> torch.Tensor:
    """Returns what is known of each token's tag.

    Args:
        tags: (B, T) int64, -1 where the tag is unknown; or (B, T, K) bool, true for the tags that a
            token may have.
        lengths: (B,).
        emissions: (B, T, K).

    Returns:
        (B, T) int64 if every real token's tag is known; else (B, T, K) bool.

    Raises:
        ValueError: if the shape does not fit the emissions', a real token's tag is out of range, or a
            real token may have no tag.
    """
    batch_size, num_tokens, num_tags = emissions.shape
    if tags.shape == emissions.shape and tags.dtype == torch.bool:
        for row, token in (~tags.any(2) & real_tokens(lengths, num_tokens)).nonzero().tolist():
            raise ValueError(
                f"`tags` must allow each real token at least one tag; row {row} allows token {token} "
                f"none"
            )
        return tags
    if tags.shape != (batch_size, num_tokens):
        raise ValueError(
            f"`tags` must have shape {(batch_size, num_tokens)} as the emissions' first two "
            f"dimensions, or be bool of shape {tuple(emissions.shape)}; got {tags.dtype} of shape "
            f"{tuple(tags.shape)}"
        )
    array = _array_on_cpu(tags)
    if not bool(((array < 0) | (array >= num_tags)).any()):
        return tags.long()
    # What lies in the padding is nobody's concern.
    is_outside = ((tags < 0) | (tags >= num_tags)) & real_tokens(lengths, num_tokens)
    for row, token in (is_outside & (tags != -1)).nonzero().tolist():
        raise ValueError(
            f"`tags` must lie in 0 to {num_tags - 1} at real tokens, or be -1 where unknown; row "
            f"{row} has {int(tags[row, token])} at token {token}"
        )
    if not bool(is_outside.any()):
        return tags.long()
    return allowed_tags(tags, num_tags)


def allowed_tags(labels: torch.Tensor, num_tags: int) -> torch.Tensor:
    """The tags that each token may have, (B, T, K) bool.

    Args:
        labels: (B, T) int64, -1 where every tag is allowed; or what is to be returned.
        num_tags: K.
    """
    if labels.dim() == 3:
        return labels
    every_tag = torch.arange(num_tags, device=labels.device)
    return (labels.unsqueeze(2) == every_tag) | (labels.unsqueeze(2) == -1)


def checked_path(
    tags: torch.Tensor, lengths: torch.Tensor, emissions: torch.Tensor
) -> torch.Tensor:
    """Returns `tags`, one for every token, as int64.

    Raises:
        ValueError: as `checked_labels`, and if a real token's tag is not known.
    """
    labels = checked_labels(tags, lengths, emissions)
    if labels.dim() == 3:
        raise ValueError(
            "`tags` must name one tag for every real token: a path with unknown tags has no score; "
            "`log_likelihood` takes them"
        )
    return labels


def _array_on_cpu(tensor: torch.Tensor) -> Any:
    """The tensor or, if it is on a CPU, an array: PyTorch spreads even checks of it over threads.

    On a busy machine these wait for one another longer than the check takes.
    """
    return tensor.numpy() if tensor.device.type == "cpu" else tensor
