"""The checks that arguments pass once, at the public functions.

Letters: `B` rows (sequences), `T` tokens, `K` tags.
"""

from functools import cache
from types import ModuleType
from typing import Any, Optional, Tuple

import numpy as np
import torch

from tagger.linear_chain.chain_scores import ChainScores, allowed_tags
from tagger.linear_chain.declared import declared_range, is_declared_right_padded
from tagger.linear_chain.padding import real_tokens, without_padding
from tagger.linear_chain.transforms import (
    first_place,
    holds_anywhere,
    is_transformed,
    number_at,
)

_COMPUTED_TYPES = (torch.float32, torch.float64)


@cache
def _kernels() -> Optional[ModuleType]:
    """Compiled checks, imported at the first use; none without Numba."""
    try:
        from tagger.linear_chain.cpu.kernels import checks
    except ImportError:
        return None
    return checks


class HoleError(Exception):
    """A mask has a hole. `holes` catches it: a function that is not ready for holes raises it.

    Args:
        mask: (B, T) bool, true at real tokens.
    """

    def __init__(self, mask: torch.Tensor) -> None:
        super().__init__()
        self.mask = mask


def checked(scores: ChainScores, mask: Optional[torch.Tensor]) -> Tuple[ChainScores, torch.Tensor]:
    """Returns `checked_scores` and `checked_lengths`."""
    scores = checked_scores(scores)
    return scores, checked_lengths(mask, scores.emissions)


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


def checked_lengths(mask: Optional[torch.Tensor], emissions: torch.Tensor) -> torch.Tensor:
    """Returns the number of real tokens of each row, (B,) int64.

    Args:
        mask: (B, T), true at real tokens; or (B,) int64 lengths; or `None` where all tokens are real.
        emissions: (B, T, K).

    Raises:
        ValueError: If a shape does not fit, or a length is out of range; on a GPU, a length out of range
            fails later, without a message of ours, as the module `declared` describes.
        HoleError: If a row has a real token after a masked one.
    """
    batch_size, num_tokens, _ = emissions.shape
    if mask is None:
        return torch.full((batch_size,), num_tokens, device=emissions.device)
    if mask.dim() == 1 and mask.dtype == torch.int64 and len(mask) == batch_size:
        if (
            is_plain_array(mask)
            and (kernels := _kernels())
            and kernels.lie_below(mask.numpy().reshape(1, -1), num_tokens + 1)
        ):
            return mask
        lengths = _array_on_cpu(mask)
        is_outside = (lengths < 0) | (lengths > num_tokens)
        if _is_elsewhere(mask):
            torch._assert_async(
                ~is_outside.any(), "`mask` holds lengths outside 0 to the number of tokens"
            )
        elif holds_anywhere(is_outside):
            (row,) = first_place(is_outside)
            raise ValueError(
                f"`mask` holds a length outside 0 to {num_tokens}: {number_at(mask, row)} for row {row}"
            )
        return mask
    if mask.shape != (batch_size, num_tokens):
        raise ValueError(
            f"`mask` must be ({batch_size}, {num_tokens}) as the emissions' first two dimensions, "
            f"or {batch_size} int64 lengths; got {mask.dtype} of shape {tuple(mask.shape)}"
        )
    if mask.dtype == torch.bool and is_plain_array(mask) and (kernels := _kernels()):
        counts = np.empty(batch_size, np.int64)
        if kernels.count_real_tokens(mask.numpy(), counts):
            return torch.from_numpy(counts)
    is_real = _array_on_cpu(mask.bool())
    # (B, T - 1): a real token after a masked one
    rises = is_real[:, 1:] > is_real[:, :-1]
    if _is_elsewhere(mask) and is_declared_right_padded(mask):
        torch._assert_async(~rises.any(), "`mask` was declared to be right-padded, but has a hole")
    elif holds_anywhere(rises):
        raise HoleError(mask.bool())
    lengths = is_real.sum(1)
    return lengths if isinstance(lengths, torch.Tensor) else torch.from_numpy(lengths)


def check_is_right_padded(mask: torch.Tensor, emissions: torch.Tensor) -> None:
    """For functions outside the chain that read rows as sequences.

    Args:
        mask: As for `checked_lengths`.
        emissions: (B, T, K).

    Raises:
        ValueError: As `checked_lengths` does, and if a row has a real token after a masked one.
    """
    try:
        checked_lengths(mask, emissions)
    except HoleError as error:
        rises = (error.mask[:, 1:] & ~error.mask[:, :-1]).any(1)
        raise ValueError(
            f"`mask` must be right-padded here: row {rises.tolist().index(True)} has a real token after "
            f"a masked one; take masked tokens out with `tagger.linear_chain.compacted`"
        ) from None


def checked_gold_tags(
    gold_tags: torch.Tensor,
    lengths: torch.Tensor,
    emissions: torch.Tensor,
    name: str = "gold_tags",
) -> torch.Tensor:
    """Returns the gold tags in the form that the implementations take.

    Args:
        gold_tags: (B, T) integers, -1 where the tag is unknown; or (B, T, K) bool, true for the tags
            that a token may have.
        lengths: (B,) int64; or (B, T) bool, true at real tokens.
        emissions: (B, T, K).
        name: The argument that errors name.

    Returns:
        (B, T) int64 if every real token's tag is known; else (B, T, K) bool.

    Raises:
        ValueError: If the shape does not fit the emissions', a real token's tag is out of range, or a
            real token may have no tag.
        TypeError: If the tags are neither integers nor bool.
    """
    batch_size, num_tokens, num_tags = emissions.shape
    gold_tags = tags_as_int64(gold_tags, name)
    if gold_tags.dtype == torch.bool and gold_tags.shape == emissions.shape:
        is_empty = ~gold_tags.any(2) & _real(lengths, num_tokens)
        if holds_anywhere(is_empty):
            row, token = first_place(is_empty)
            raise ValueError(
                f"`{name}` must allow each real token at least one tag; row {row} allows token {token} "
                f"none"
            )
        return gold_tags
    if gold_tags.shape != (batch_size, num_tokens) or gold_tags.dtype == torch.bool:
        raise ValueError(
            f"`{name}` must have shape {(batch_size, num_tokens)} as the emissions' first two "
            f"dimensions, or be bool of shape {tuple(emissions.shape)}; got {gold_tags.dtype} of shape "
            f"{tuple(gold_tags.shape)}"
        )
    if gold_tags.dtype == torch.int64 and is_plain_array(gold_tags) and (kernels := _kernels()):
        if kernels.lie_below(gold_tags.numpy(), num_tags):
            return gold_tags
        if lengths.dim() == 1:
            allowed = np.zeros(emissions.shape, np.bool_)
            num_unknown = kernels.count_unknown(
                gold_tags.numpy(), lengths.contiguous().numpy(), allowed
            )
            if num_unknown >= 0:
                return torch.from_numpy(allowed) if num_unknown else gold_tags
    declared = declared_range(gold_tags)
    if declared is not None and declared[0] >= 0 and declared[1] < num_tags:
        return gold_tags
    array = _array_on_cpu(gold_tags)
    if not holds_anywhere((array < 0) | (array >= num_tags)):
        return gold_tags
    # Tags in the padding do not matter.
    is_outside = ((gold_tags < 0) | (gold_tags >= num_tags)) & _real(lengths, num_tokens)
    is_wrong = is_outside & (gold_tags != -1)
    if holds_anywhere(is_wrong):
        row, token = first_place(is_wrong)
        raise ValueError(
            f"`{name}` must lie in 0 to {num_tags - 1} at real tokens, or be -1 where unknown; row "
            f"{row} has {number_at(gold_tags, row, token)} at token {token}"
        )
    if not holds_anywhere(is_outside):
        return gold_tags
    return allowed_tags(gold_tags, num_tags)


def tags_as_int64(tags: torch.Tensor, name: str = "gold_tags") -> torch.Tensor:
    """Returns integer tags as int64, and sets of tags, which are bool, as they are.

    Raises:
        TypeError: If the tags are of another type.
    """
    if tags.dtype in (torch.int64, torch.bool):
        return tags
    if tags.is_floating_point() or tags.is_complex():
        raise TypeError(
            f"`{name}` must hold integers, or be bool for sets of tags; got {tags.dtype}, convert it "
            f"with `.long()` or `.bool()`"
        )
    return tags.long()


def checked_path(
    tags: torch.Tensor, lengths: torch.Tensor, emissions: torch.Tensor
) -> torch.Tensor:
    """Returns the path `tags`, (B, T), as int64; arguments as for `checked_gold_tags`.

    Raises:
        ValueError: As `checked_gold_tags` does, and if a real token's tag is unknown.
        TypeError: As `checked_gold_tags` does.
    """
    path = checked_gold_tags(tags, lengths, emissions, name="tags")
    if path.dim() == 3:
        raise ValueError(
            "`tags` must name one tag for every real token: a path with unknown tags has no score; "
            "`log_likelihood` takes them"
        )
    return path


def checked_spans(
    spans: torch.Tensor, allowed: torch.Tensor, is_real: torch.Tensor, emissions: torch.Tensor
) -> None:
    """Checks the arguments of `span_log_probabilities`; `is_real` is (B, T) bool.

    Raises:
        ValueError: If a shape or type does not fit, or a span does not begin and end at real tokens.
    """
    batch_size, _, num_tags = emissions.shape
    if spans.dim() != 2 or spans.size(1) != 3 or spans.dtype != torch.int64:
        raise ValueError(
            f"`spans` must be int64 of shape (N, 3), each a row, a first and a last token; got "
            f"{spans.dtype} of shape {tuple(spans.shape)}"
        )
    if allowed.dim() != 3 or allowed.dtype != torch.bool or allowed.size(2) != num_tags:
        raise ValueError(
            f"`allowed` must be bool of shape (N, W, {num_tags}) to fit the emissions' tags; got "
            f"{allowed.dtype} of shape {tuple(allowed.shape)}"
        )
    longest = int((spans[:, 2] - spans[:, 1]).max()) + 1 if len(spans) else 1
    if len(allowed) != len(spans) or allowed.size(1) < longest:
        raise ValueError(
            f"`allowed` must have {len(spans)} rows, one for each span, and at least {longest} tokens, "
            f"as the longest span has; got shape {tuple(allowed.shape)}"
        )
    if not len(spans):
        return
    num_tokens = is_real.size(1)
    rows, firsts, lasts = spans.unbind(1)
    fits = (rows >= 0) & (rows < batch_size) & (firsts >= 0) & (lasts < num_tokens)
    fits = fits & (firsts <= lasts)
    places = [torch.where(fits, each, torch.zeros_like(each)) for each in (rows, firsts, lasts)]
    if bool(fits.any()):
        fits = fits & is_real[places[0], places[1]] & is_real[places[0], places[2]]
    if not bool(fits.all()):
        row, first, last = spans[~fits][0].tolist()
        raise ValueError(
            f"`spans` must begin and end at real tokens of one of {batch_size} rows; got row {row}, "
            f"tokens {first} to {last}"
        )


def at_least_float32(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor in a type in which chains are computed: half precision becomes float32."""
    return tensor if tensor.dtype in _COMPUTED_TYPES else tensor.float()


def has_finite_sum(tensor: torch.Tensor) -> bool:
    """Whether the sum of a tensor on a CPU is finite; true elsewhere, so that the host need not wait."""
    if _is_elsewhere(tensor) or is_transformed():
        return True
    with np.errstate(invalid="ignore", over="ignore"):
        return bool(np.isfinite(tensor.detach().numpy().sum()))


def has_no_number(scores: ChainScores, lengths: torch.Tensor) -> Optional[torch.Tensor]:
    """Which rows hold NaN or +inf at a real token, or in the scores that all tokens share.

    Returns:
        (B,) bool; or `None` if there is no such row, which one sum mostly shows. On a GPU never `None`,
        so that the host need not wait.
    """
    emissions, transitions, start, end = scores
    if (_is_elsewhere(emissions) or is_transformed()) and emissions.numel():
        is_real = real_tokens(lengths, emissions.size(1))
        # (B, T), then (B,): the largest scores, which are NaN where there is one
        tops = without_padding(emissions.amax(2), is_real).amax(1)
        shared = torch.stack([transitions.amax(), start.amax(), end.amax()]).amax()
        return ~((tops < torch.inf) & (shared < torch.inf))
    with np.errstate(invalid="ignore", over="ignore"):
        total = float(sum(_array_on_cpu(tensor.detach()).sum() for tensor in scores))
    if total < torch.inf:
        return None
    is_real = real_tokens(lengths, emissions.size(1)).unsqueeze(2)
    is_spoilt = (_is_no_number(emissions) & is_real).flatten(1).any(1)
    for tensor in (transitions, start, end):
        is_spoilt = is_spoilt | _is_no_number(tensor).any()
    return is_spoilt if bool(is_spoilt.any()) else None


def _is_no_number(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.isnan() | (tensor == torch.inf)


def _real(lengths: torch.Tensor, num_tokens: int) -> torch.Tensor:
    return lengths if lengths.dim() == 2 else real_tokens(lengths, num_tokens)


def is_plain_array(tensor: torch.Tensor) -> bool:
    """Whether kernels can take the tensor's memory as it is."""
    return tensor.device.type == "cpu" and not is_transformed() and tensor.is_contiguous()


def _is_elsewhere(tensor: torch.Tensor) -> bool:
    """Whether the host would wait for the tensor's values."""
    return tensor.device.type != "cpu"


def _array_on_cpu(tensor: torch.Tensor) -> Any:
    """A tensor on a CPU as an array, any other, and one of `torch.func`, as it is.

    PyTorch spreads even small checks over threads. On a busy machine these wait for one another longer
    than the check takes.
    """
    return tensor if _is_elsewhere(tensor) or is_transformed() else tensor.numpy()
