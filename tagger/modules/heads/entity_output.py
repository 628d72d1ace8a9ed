"""Entities in a head's output: as tensors with a place for each token, and as dictionaries to read.

Letters: `B` batch, `T` tokens, `N` entities, `M` the most candidates that begin at one token.
"""

from typing import Any, Dict, List, Optional, Sequence

import numpy as np
import torch

from tagger.spans.encodings import split_tag
from tagger.spans.entities import Entities

#: The names of the tensors of `lay_out_candidates`.
CANDIDATES = ("candidate_lengths", "candidate_labels", "candidate_probabilities")


def lay_out_candidates(
    candidates: Entities, probabilities: torch.Tensor, mask: torch.Tensor
) -> Dict[str, torch.Tensor]:
    """Puts candidates at their first tokens.

    Returns:
        (B, T, M) each: the number of tokens, 0 where there is no candidate; the label; the probability.
    """
    labels, rows, firsts, lasts = candidates
    # (N,): which candidate of its first token each is
    places = rows * mask.size(1) + firsts
    _, begins = np.unique(places, return_index=True)
    counts = np.diff(begins, append=len(places))
    numbers = np.arange(len(places)) - np.repeat(begins, counts)
    shape = (*mask.shape, int(counts.max(initial=0)))
    at = tuple(torch.from_numpy(each).to(mask.device) for each in (rows, firsts, numbers))
    values = (
        torch.from_numpy(lasts - firsts + 1).to(mask.device),
        torch.from_numpy(labels).to(mask.device),
        probabilities,
    )
    laid_out = {}
    for name, value in zip(CANDIDATES, values):
        laid_out[name] = value.new_zeros(shape)
        laid_out[name][at] = value
    return laid_out


def readable_candidates(
    output: Dict[str, torch.Tensor], names: Sequence[str]
) -> List[List[Dict[str, Any]]]:
    """Returns the candidates of each sentence, and removes their tensors from the output."""
    lengths, labels, probabilities = (output.pop(name).cpu().numpy() for name in CANDIDATES)
    candidates: List[List[Dict[str, Any]]] = [[] for _ in lengths]
    rows, firsts, numbers = lengths.nonzero()
    at = (rows, firsts, numbers)
    for row, first, length, label, probability in zip(
        rows.tolist(),
        firsts.tolist(),
        lengths[at].tolist(),
        labels[at].tolist(),
        probabilities[at].tolist(),
    ):
        candidates[row].append(
            {
                "label": names[label],
                "first": first,
                "last": first + length - 1,
                "probability": probability,
            }
        )
    return candidates


def readable_entities(
    tags: List[str],
    lengths: List[int],
    probabilities: Optional[List[float]],
    encoding: Optional[str],
) -> List[Dict[str, Any]]:
    """Names the entities of a sentence; `lengths` and `probabilities` are as from `predict`."""
    entities = []
    for first, tag in enumerate(tags):
        if lengths[first] > 0:
            entity: Dict[str, Any] = {"label": split_tag(tag, encoding)[1] or ""}
            entity |= {"first": first, "last": first + lengths[first] - 1}
            if probabilities is not None:
                entity["probability"] = probabilities[first]
            entities.append(entity)
    return entities
