"""Predictions for the parts of a text, put together.

A prediction is a dictionary. `tags`, `labels` and `probabilities` have an entry for each token,
`entities` and `candidates` are dictionaries with the indices of their `first` and `last` tokens, and
`leak_probability` and `expected_missed` are numbers. What one part lacks, all lack.
"""

import itertools
import math
from typing import Any, Dict, Iterable, List, Sequence

Prediction = Dict[str, Any]

#: The outputs with one entry per token.
TOKEN_OUTPUTS = ("tags", "labels", "probabilities")
#: The outputs that are lists of entities.
ENTITY_OUTPUTS = ("entities", "candidates")
#: The outputs that are a number for the whole input.
MISSED_OUTPUTS = ("leak_probability", "expected_missed")

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
        >>> entity = {"label": "LOC", "first": 0, "last": 0}
        >>> pieces = [{"tags": ["O"], "entities": []}, {"tags": ["B-LOC"], "entities": [entity]}]
        >>> merged_pieces(pieces)
        {'tags': ['O', 'B-LOC'], 'entities': [{'label': 'LOC', 'first': 1, 'last': 1}]}
    """
    merged: Prediction = {
        name: list(itertools.chain(*(piece[name] for piece in pieces)))
        for name in TOKEN_OUTPUTS
        if name in pieces[0]
    }
    for name in ENTITY_OUTPUTS:
        if name in pieces[0]:
            starts = itertools.accumulate((len(piece["tags"]) for piece in pieces), initial=0)
            merged[name] = [
                {**entity, "first": entity["first"] + start, "last": entity["last"] + start}
                for start, piece in zip(starts, pieces)
                for entity in piece[name]
            ]
    return {**merged, **_merged_missed(pieces)}


def merged_chains(chains: Sequence[Prediction]) -> Prediction:
    """Merges the predictions of the chains of all labels for one text.

    Entities are in the order of their first tokens, longer ones first; `probabilities` are of all tags
    but `O`, which each chain has. A chain leaves out the tags of other labels, or gives them 0.
    """
    merged: Prediction = {"tags": list(map(joined_tags, zip(*(each["tags"] for each in chains))))}
    for name in ENTITY_OUTPUTS:
        if name in chains[0]:
            merged[name] = sorted(
                itertools.chain(*(each[name] for each in chains)),
                key=lambda entity: (entity["first"], -entity["last"]),
            )
    if "probabilities" in chains[0]:
        tokens = zip(*(each["probabilities"] for each in chains))
        merged["probabilities"] = list(map(_inside, tokens))
    return {**merged, **_merged_missed(chains)}


def _inside(of_chains: Iterable[Dict[str, float]]) -> Dict[str, float]:
    """The probabilities of a token's tags but `O`."""
    merged: Dict[str, float] = {}
    for own in of_chains:
        for tag, value in own.items():
            if tag != "O":
                merged[tag] = merged.get(tag, 0.0) + value
    return merged


def _merged_missed(parts: Sequence[Prediction]) -> Dict[str, float]:
    """What is missed in all parts, which know nothing of one another."""
    if MISSED_OUTPUTS[0] not in parts[0]:
        return {}
    of_parts: List[List[float]] = [[part[name] for part in parts] for name in MISSED_OUTPUTS]
    any_missed, expected = of_parts
    values = 1 - math.prod(1 - each for each in any_missed), math.fsum(expected)
    return dict(zip(MISSED_OUTPUTS, values))
