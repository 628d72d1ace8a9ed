"""Predictions for the parts of a text, put together. What one part lacks, all lack."""

import itertools
import math
from typing import Any, Dict, Iterable, Sequence

from tagger_texts.prediction import ENTITIES, OF_TOKENS, SETS, Prediction

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
        >>> from tagger_texts.prediction import Entity
        >>> pieces = [
        ...     Prediction(tags=["O"], entities=[]),
        ...     Prediction(tags=["B-LOC"], entities=[Entity.of_tokens("LOC", 0, 0)]),
        ... ]
        >>> merged_pieces(pieces).to_json()
        {'tags': ['O', 'B-LOC'], 'entities': [{'label': 'LOC', 'first': 1, 'last': 1}]}
    """
    starts = itertools.accumulate((len(piece.tags or ()) for piece in pieces), initial=0)

    return _joined(piece.moved(start) if start else piece for piece, start in zip(pieces, starts))


def merged_chains(chains: Sequence[Prediction]) -> Prediction:
    """Merges the predictions of the chains of all labels for one text.

    Entities are in the order of their first tokens, longer ones first; `probabilities` are of all tags
    but `O`, which each chain has. A chain leaves out the tags of other labels, or gives them 0.
    """
    found = _joined(chains, (*ENTITIES, *SETS)).with_entities(
        lambda entities: sorted(entities, key=lambda entity: (entity.first, -entity.last))
    )
    tokens = zip(*(chain.probabilities or () for chain in chains))
    return found._replace(
        sets=found.sets and sorted(found.sets, key=lambda each: each.token),
        tags=list(map(joined_tags, zip(*(chain.tags or () for chain in chains)))),
        probabilities=None if chains[0].probabilities is None else list(map(_inside, tokens)),
    )


def _joined(
    given: Iterable[Prediction], names: Sequence[str] = (*OF_TOKENS, *ENTITIES, *SETS)
) -> Prediction:
    """The named lists as one each, and what leaks from all parts, which know nothing of one another."""
    parts = list(given)
    fields: Dict[str, Any] = {
        name: list(itertools.chain(*(getattr(part, name) for part in parts)))
        for name in names
        if getattr(parts[0], name) is not None
    }
    if parts[0].leak_probability is not None:
        leaks = (1 - (part.leak_probability or 0.0) for part in parts)
        fields["leak_probability"] = 1 - math.prod(leaks)
        fields["expected_missed"] = math.fsum(part.expected_missed or 0.0 for part in parts)
    return Prediction(**fields)


def _inside(of_chains: Iterable[Dict[str, float]]) -> Dict[str, float]:
    """The probabilities of a token's tags but `O`."""
    merged: Dict[str, float] = {}
    for own in of_chains:
        for tag, value in own.items():
            if tag != "O":
                merged[tag] = merged.get(tag, 0.0) + value
    return merged
