"""The predictions of the chains of several labels, put together.

Letters: `B` sentences, `T` tokens, `C` labels, `M` the most candidates that begin at one token.
"""

import itertools
import math
from typing import Any, Callable, Dict, List, Optional, Sequence

import torch

from tagger.spans.overlapping import joined_tags


def stacked(tensors: Sequence[Optional[torch.Tensor]]) -> torch.Tensor:
    """Stacks what chains give, (B, T) or (B, T, M), to (B, T, C, ...), 0 where there is nothing."""
    given = [tensor for tensor in tensors if tensor is not None]
    shape = [max(sizes) for sizes in zip(*(tensor.shape for tensor in given))]
    missing = given[0].new_zeros(())
    padded = [missing.expand(shape) if each is None else _padded(each, shape) for each in tensors]
    return torch.stack(padded, 2)


def _padded(tensor: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
    """A tensor (B, T) as it is; (B, T, M) with more zeros."""
    return torch.nn.functional.pad(tensor, (0, shape[-1] - tensor.shape[-1]))


def _in_order(of_labels: Sequence[List[Dict[str, Any]]]) -> List[Dict[str, Any]]:
    """Joins the entities of all labels, in order of their first tokens, longer ones first."""
    return sorted(
        itertools.chain(*of_labels), key=lambda entity: (entity["first"], -entity["last"])
    )


def _inside(of_labels: Sequence[List[Dict[str, float]]]) -> List[Dict[str, float]]:
    """Joins the probabilities of tags at each token, without those of `O`, which each chain has."""
    return [
        {tag: value for own in token for tag, value in own.items() if tag != "O"}
        for token in zip(*of_labels)
    ]


#: How the readable output of the chains becomes that of a sentence.
MERGED: Dict[str, Callable[[Any], Any]] = {
    "tags": lambda of_labels: list(map(joined_tags, zip(*of_labels))),
    "entities": _in_order,
    "candidates": _in_order,
    "probabilities": _inside,
    # No label's chain knows of the others.
    "leak_probability": lambda of_labels: 1 - math.prod(1 - each for each in of_labels),
    "expected_missed": math.fsum,
}
