"""Argument checks of the public functions, and masks with holes.

Implementations handle only rows in which the real tokens come first. `rows_of` moves the real tokens of
any mask to the front, and `Rows` moves results back.

Letters: `B` rows (sequences), `T` tokens, `K` tags.
"""

from typing import Any, NamedTuple, Optional, Tuple

import numpy as np
import torch

from tagger.linear_chain.chain_scores import ChainScores, allowed_tags
from tagger.linear_chain.declared import declared_range, is_declared_right_padded
from tagger.linear_chain.padding import real_tokens, without_padding
from tagger.linear_chain.tracing import first_place, holds_anywhere, is_transformed, number_at

_COMPUTED_TYPES = (torch.float32, torch.float64)


class Rows(NamedTuple):
    """Checked chains, with the real tokens of each row in front.

    Args:
        scores: All of the same floating-point type.
        lengths: (B,) int64, the number of real tokens of each row.
        mask: (B, T) bool, true where the real tokens were; `None` if the mask had no hole.
    """

    scores: ChainScores
    lengths: torch.Tensor
    mask: Optional[torch.Tensor]

    def gold_tags(self, gold_tags: torch.Tensor) -> torch.Tensor:
        """Gold tags as implementations take them: see `checked_gold_tags`."""
        checked = checked_gold_tags(gold_tags, self.real_tokens, self.scores.emissions)
        return self.in_front(checked)

    def path(self, tags: torch.Tensor) -> torch.Tensor:
        """A path as implementations take it, (B, T) int64."""
        path = checked_gold_tags(tags, self.real_tokens, self.scores.emissions, name="tags")
        if path.dim() == 3:
            raise ValueError(
                "`tags` must name one tag for every real token: a path with unknown tags has no score; "
                "`log_likelihood` accepts them"
            )
        return self.in_front(path)

    def weights(self, weights: Optional[torch.Tensor]) -> Optional[torch.Tensor]:
        """The weights of tokens, (B, T), if there are any."""
        if weights is None:
            return None
        shape = self.scores.emissions.shape[:2]
        if weights.shape != shape:
            raise ValueError(
                f"`weights` must have shape {tuple(shape)}, one for each token; "
                f"got {tuple(weights.shape)}"
            )
        return self.in_front(weights.detach())

    @property
    def real_tokens(self) -> torch.Tensor:
        """`lengths` or, where the mask had a hole, `mask`."""
        return self.lengths if self.mask is None else self.mask

    def in_front(self, values: torch.Tensor) -> torch.Tensor:
        """Moves a caller's values for real tokens, (B, T, ...), to the front."""
        return values if self.mask is None else in_front(values, self.mask)

    def at_tokens(self, values: torch.Tensor) -> torch.Tensor:
        """Moves values for tokens, (B, T, ...), back to their places; keeps values for rows, (B,)."""
        if self.mask is None or values.dim() == 1:
            return values
        return without_padding(_at(values, _places(self.mask)), self.mask)

    def at_transitions(self, values: torch.Tensor) -> torch.Tensor:
        """Moves values for transitions, (B, T - 1, ...), to just before the tokens that they lead to."""
        if self.mask is None:
            return values
        places = _places(self.mask)[:, 1:]
        is_led_to = self.mask[:, 1:] & (places > 0)
        return without_padding(_at(values, (places - 1).clamp(min=0)), is_led_to)

    def of_paths(self, paths: torch.Tensor) -> torch.Tensor:
        """Moves the tags of paths, (B, S, T), back to the places of their tokens."""
        if self.mask is None:
            return paths
        return self.at_tokens(paths.transpose(1, 2)).transpose(1, 2).contiguous()


def rows_of(scores: ChainScores, mask: Optional[torch.Tensor]) -> Rows:
    """Checks the scores and the mask of a public function."""
    scores = checked_scores(scores)
    lengths, holes = checked_mask(mask, scores.emissions)
    if holes is None:
        return Rows(scores, lengths, None)
    return Rows(scores._replace(emissions=in_front(scores.emissions, holes)), lengths, holes)


def in_front(values: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Moves the values, (B, T, ...), of tokens where `mask`, (B, T) bool, is true to the front."""
    return _at(values, (~mask).long().argsort(dim=1, stable=True))


def _places(mask: torch.Tensor) -> torch.Tensor:
    """How many real tokens come before each, (B, T)."""
    return (mask.cumsum(1) - 1).clamp(min=0)


def _at(values: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """`values`, (B, T, ...), at `places`, (B, T'), of each row: (B, T', ...)."""
    rows = torch.arange(len(values), device=values.device).unsqueeze(1)
    return values[rows, places]


def checked_scores(scores: ChainScores) -> ChainScores:
    """Returns `scores` in a common floating-point type, at least float32."""
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
    num_tags = _shape(emissions)[2]
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


def _shape(emissions: torch.Tensor) -> torch.Size:
    if emissions.dim() != 3:
        raise ValueError(f"`emissions` must be (B, T, K); got shape {tuple(emissions.shape)}")
    return emissions.shape


def checked_mask(
    mask: Optional[torch.Tensor], emissions: torch.Tensor
) -> Tuple[torch.Tensor, Optional[torch.Tensor]]:
    """Returns the lengths of rows, (B,) int64; and the mask, (B, T) bool, if it has a hole, else `None`.

    On a GPU, a length out of range fails at a later call, as the module `declared` describes.
    """
    batch_size, num_tokens, _ = _shape(emissions)
    if mask is None:
        return torch.full((batch_size,), num_tokens, device=emissions.device), None
    if mask.dim() == 1 and mask.dtype == torch.int64 and len(mask) == batch_size:
        _check_lengths(mask, num_tokens)
        return mask, None
    if mask.shape != (batch_size, num_tokens):
        raise ValueError(
            f"`mask` must be ({batch_size}, {num_tokens}) as the emissions' first two dimensions, "
            f"or {batch_size} int64 lengths; got {mask.dtype} of shape {tuple(mask.shape)}"
        )
    is_real = mask.bool()
    values = array_on_cpu(is_real)
    # (B, T - 1): a real token after a masked one
    rises = values[:, 1:] > values[:, :-1]
    lengths = values.sum(1) if values is is_real else torch.from_numpy(values.sum(1))
    if is_elsewhere(mask) and is_declared_right_padded(mask):
        torch._assert_async(~rises.any(), "`mask` was declared to be right-padded, but has a hole")
        return lengths, None
    return lengths, is_real if holds_anywhere(rises) else None


def _check_lengths(lengths: torch.Tensor, num_tokens: int) -> None:
    values = array_on_cpu(lengths)
    if is_elsewhere(lengths):
        torch._assert_async(
            ~_outside(values, num_tokens + 1).any(),
            "`mask` holds lengths outside 0 to the number of tokens",
        )
    elif not _are_all_inside(values, num_tokens + 1):
        (row,) = first_place(_outside(values, num_tokens + 1))
        raise ValueError(
            f"`mask` holds a length outside 0 to {num_tokens}: {number_at(lengths, row)} for row {row}"
        )


def checked_gold_tags(
    gold_tags: torch.Tensor, lengths: torch.Tensor, emissions: torch.Tensor, name: str = "gold_tags"
) -> torch.Tensor:
    """Returns the gold tags as (B, T) int64 if every real token's tag is known; else as (B, T, K) bool.

    `lengths` are (B,) int64, or (B, T) bool, true at real tokens. Error messages call the tags `name`.
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
    declared = declared_range(gold_tags) if is_elsewhere(gold_tags) else None
    if declared is not None and declared[0] >= 0 and declared[1] < num_tags:
        return gold_tags
    return _sets_if_unknown(gold_tags, lengths, num_tags, name)


def _sets_if_unknown(
    gold_tags: torch.Tensor, lengths: torch.Tensor, num_tags: int, name: str
) -> torch.Tensor:
    values = array_on_cpu(gold_tags)
    if _are_all_inside(values, num_tags):
        return gold_tags
    # Tags in the padding do not matter.
    is_real = array_on_cpu(_real(lengths, gold_tags.size(1)))
    is_outside = _outside(values, num_tags) & is_real
    is_wrong = is_outside & (values != -1)
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
    """Returns integer tags as int64, and sets of tags, which are bool, as they are."""
    if tags.dtype in (torch.int64, torch.bool):
        return tags
    if tags.is_floating_point() or tags.is_complex():
        raise TypeError(
            f"`{name}` must hold integers, or be bool for sets of tags; got {tags.dtype}, convert it "
            f"with `.long()` or `.bool()`"
        )
    return tags.long()


def at_least_float32(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor, converted to float32 if it has half precision."""
    return tensor if tensor.dtype in _COMPUTED_TYPES else tensor.float()


def _real(lengths: torch.Tensor, num_tokens: int) -> torch.Tensor:
    return lengths if lengths.dim() == 2 else real_tokens(lengths, num_tokens)


def array_on_cpu(tensor: torch.Tensor) -> Any:
    """A CPU tensor as an array; other tensors, and those of `torch.func`, unchanged.

    PyTorch runs even small checks on several threads. On a busy machine, waiting for these takes longer
    than the check.
    """
    return tensor if is_elsewhere(tensor) or is_transformed() else tensor.numpy()


def _outside(values: Any, end: int) -> Any:
    return (values < 0) | (values >= end)


def _are_all_inside(values: Any, end: int) -> bool:
    """Whether int64 `values` lie in 0 to `end` - 1."""
    if isinstance(values, torch.Tensor):
        return not holds_anywhere(_outside(values, end))
    # One reduction is faster than four operations. Read as unsigned, negative numbers are large.
    return bool(values.view(np.uint64).max(initial=0) < end)


def is_elsewhere(tensor: torch.Tensor) -> bool:
    """Whether reading the tensor's values would force a sync with its device."""
    return not tensor.is_cpu
