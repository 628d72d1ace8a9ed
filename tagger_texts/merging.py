"""Predictions for the parts of a text, put together. What one part lacks, all lack."""

import itertools
import math
from typing import Any, Dict, Iterable, List, Optional, Sequence, TypeVar

from tagger_texts.prediction import Entity, Prediction

T = TypeVar("T")

#: The string between two tags of a token.
SEPARATOR = "|"


def joined_tags(tags: Iterable[str], separator: str = SEPARATOR) -> str:
    """Joins the tags that a token has in the sequences of all labels.

    Example:
        >>> joined_tags(["B-LOC", "O", "I-ORG"]), joined_tags(["O", "O"])
        ('B-LOC|I-ORG', 'O')
    """
    return separator.join(tag for tag in tags if tag != "O") or "O"


def merged_pieces(pieces: Sequence[Prediction]) -> Prediction:
    """Merges the predictions for the pieces of a text, which follow one another.

    Example:
        >>> pieces = [
        ...     Prediction(tags=["O"], entities=[]),
        ...     Prediction(tags=["B-LOC"], entities=[Entity.of_tokens("LOC", 0, 0)]),
        ... ]
        >>> merged_pieces(pieces).to_json()
        {'tags': ['O', 'B-LOC'], 'entities': [{'label': 'LOC', 'first': 1, 'last': 1}]}
    """
    starts = [0, *itertools.accumulate(len(piece.tags or ()) for piece in pieces)]

    def moved(of_pieces: Iterable[Optional[List[Entity]]]) -> Optional[List[Entity]]:
        return _joined(
            [entity.moved(start) for entity in own] if own and start else own
            for start, own in zip(starts, of_pieces)
        )

    return Prediction(
        tags=_joined(piece.tags for piece in pieces),
        labels=_joined(piece.labels for piece in pieces),
        probabilities=_joined(piece.probabilities for piece in pieces),
        entities=moved(piece.entities for piece in pieces),
        candidates=moved(piece.candidates for piece in pieces),
        **_merged_leaks(pieces),
    )


def merged_chains(chains: Sequence[Prediction]) -> Prediction:
    """Merges the predictions of the chains of all labels for one text.

    Entities are in the order of their first tokens, longer ones first; `probabilities` are of all tags
    but `O`, which each chain has. A chain leaves out the tags of other labels, or gives them 0.
    """

    def in_order(of_chains: Iterable[Optional[List[Entity]]]) -> Optional[List[Entity]]:
        entities = _joined(of_chains)
        return entities and sorted(entities, key=lambda entity: (entity.first, -entity.last))

    tokens = zip(*(chain.probabilities or () for chain in chains))
    return Prediction(
        tags=list(map(joined_tags, zip(*(chain.tags or () for chain in chains)))),
        probabilities=None if chains[0].probabilities is None else list(map(_inside, tokens)),
        entities=in_order(chain.entities for chain in chains),
        candidates=in_order(chain.candidates for chain in chains),
        **_merged_leaks(chains),
    )


def _joined(parts: Iterable[Optional[List[T]]]) -> Optional[List[T]]:
    """All lists as one, or None where they are missing."""
    given = [part for part in parts if part is not None]
    return list(itertools.chain(*given)) if given else None


def _inside(of_chains: Iterable[Dict[str, float]]) -> Dict[str, float]:
    """The probabilities of a token's tags but `O`."""
    merged: Dict[str, float] = {}
    for own in of_chains:
        for tag, value in own.items():
            if tag != "O":
                merged[tag] = merged.get(tag, 0.0) + value
    return merged


def _merged_leaks(parts: Sequence[Prediction]) -> Dict[str, Any]:
    """What leaks from all parts, which know nothing of one another."""
    if parts[0].leak_probability is None:
        return {}
    return {
        "leak_probability": 1 - math.prod(1 - (part.leak_probability or 0.0) for part in parts),
        "expected_missed": math.fsum(part.expected_missed or 0.0 for part in parts),
    }
