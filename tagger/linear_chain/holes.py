"""Masks with holes: tokens that are absent although real tokens follow.

The implementations know only rows whose real tokens come first. `takes_holes` lets a function take any
mask: it moves the real tokens to the front, calls the function, and moves the results back.

Letters: `B` rows (sequences), `T` tokens, `K` tags, `N` spans, `W` tokens of the longest span.
"""

import functools
import inspect
from itertools import zip_longest
from typing import Any, Callable, Dict, Optional, Tuple, TypeVar

import torch

from tagger.linear_chain.chain_scores import ChainScores
from tagger.linear_chain.checks import (
    HoleError,
    checked_gold_tags,
    checked_lengths,
    checked_path,
    checked_spans,
)
from tagger.linear_chain.padding import without_padding
from tagger.linear_chain.tracing import not_traced

Function = TypeVar("Function", bound=Callable[..., Any])
#: Moves a result back, given the mask, (B, T), and the place of each real token among those of its row.
MoveBack = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


def takes_holes(*move_back: MoveBack) -> Callable[[Function], Function]:
    """Decorates a public function of the chain so that its `mask` may have holes.

    A mask without holes costs nothing: the function runs as it is, unless its check raises `HoleError`.

    Args:
        *move_back: One for each result that has tokens; results after these have none.
    """

    def decorate(function: Function) -> Function:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def with_holes(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            except HoleError as error:
                mask = error.mask
            arguments = signature.bind(*args, **kwargs).arguments
            results = function(**_without_holes(arguments, mask))
            # (B, T): how many real tokens come before each
            place = (mask.cumsum(1) - 1).clamp(min=0)
            if isinstance(results, torch.Tensor):
                # One number for each row, or span, stays where it is.
                return move_back[0](results, mask, place) if results.dim() > 1 else results
            return tuple(
                result if move is None else move(result, mask, place)
                for result, move in zip_longest(results, move_back)
            )

        return with_holes  # type: ignore[return-value]

    return decorate


@not_traced
def compacted(
    emissions: torch.Tensor, mask: Optional[torch.Tensor] = None
) -> Tuple[torch.Tensor, torch.Tensor]:
    """Takes the masked tokens out of a batch.

    Args:
        emissions: (B, T, K).
        mask: As for every function of the chain (see `tagger.linear_chain.functions`).

    Returns:
        The emissions with each row's real tokens first, (B, T, K), which are `emissions` itself if the
        mask has no hole; and the number of real tokens of each row, (B,) int64.

    Raises:
        ValueError: If `mask` does not fit.
    """
    try:
        return emissions, checked_lengths(mask, emissions)
    except HoleError as error:
        mask = error.mask
    return _at(emissions, _real_first(mask)), mask.sum(1)


def at_tokens(values: torch.Tensor, mask: torch.Tensor, place: torch.Tensor) -> torch.Tensor:
    """Moves back one value for each token, (B, T, ...)."""
    return without_padding(_at(values, place), mask)


def at_tokens_of_paths(
    paths: torch.Tensor, mask: torch.Tensor, place: torch.Tensor
) -> torch.Tensor:
    """Moves back paths, (B, S, T)."""
    return at_tokens(paths.transpose(1, 2), mask, place).transpose(1, 2).contiguous()


def at_transitions(values: torch.Tensor, mask: torch.Tensor, place: torch.Tensor) -> torch.Tensor:
    """Moves back one value for each transition, (B, T - 1, ...), to before the token it leads to."""
    is_led_to = mask[:, 1:] & (place[:, 1:] > 0)
    return without_padding(_at(values, (place[:, 1:] - 1).clamp(min=0)), is_led_to)


def _without_holes(arguments: Dict[str, Any], mask: torch.Tensor) -> Dict[str, Any]:
    """The arguments of a function, without masked tokens."""
    scores, order = arguments["scores"], _real_first(mask)
    compact = dict(arguments, mask=mask.sum(1))
    compact["scores"] = scores._replace(emissions=_at(scores.emissions, order))
    # Checked here, where tokens have the positions that errors must name.
    for name, check in (("tags", checked_path), ("gold_tags", checked_gold_tags)):
        if name in arguments:
            compact[name] = _at(check(arguments[name], mask, scores.emissions), order)
    if arguments.get("weights") is not None:
        compact["weights"] = _at(arguments["weights"], order)
    if "spans" in arguments:
        compact.update(_spans_without_holes(arguments["spans"], arguments["allowed"], mask, scores))
    return compact


def _spans_without_holes(
    spans: torch.Tensor, allowed: torch.Tensor, mask: torch.Tensor, scores: ChainScores
) -> Dict[str, torch.Tensor]:
    """The spans' real tokens, (N, 3), and the sets of tags that these may have, (N, W, K)."""
    checked_spans(spans, allowed, mask, scores.emissions)
    rows, firsts, lasts = spans.unbind(1)
    place = mask.cumsum(1) - 1
    compact = torch.stack([rows, place[rows, firsts], place[rows, lasts]], dim=1)
    # (N, W): the offsets of a span's tokens, real ones first
    tokens = firsts.unsqueeze(1) + torch.arange(allowed.size(1), device=spans.device)
    is_inside = tokens <= lasts.unsqueeze(1)
    tokens = torch.minimum(tokens, lasts.unsqueeze(1))
    order = _real_first(is_inside & mask[rows.unsqueeze(1), tokens])
    return {"spans": compact, "allowed": _at(allowed, order)}


def _real_first(mask: torch.Tensor) -> torch.Tensor:
    """The tokens of each row in the order in which the real ones come first, (B, T) int64."""
    return (~mask).long().argsort(dim=1, stable=True)


def _at(values: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """`values`, (B, T, ...), at `places`, (B, T'), of each row: (B, T', ...)."""
    rows = torch.arange(len(values), device=values.device).unsqueeze(1)
    return values[rows, places]
