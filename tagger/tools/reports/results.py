"""What a model does in a sentence or in a document.

Letters: `C` labels, `N` items with a probability.
"""

from typing import Any, FrozenSet, Iterator, Mapping, NamedTuple, Tuple

import numpy as np
from allennlp.data import Instance

BATCH_SIZE = 64


class Place(NamedTuple):
    """Where a sentence lies: some of the tokens of an instance, which may be a document."""

    instance: Instance
    tokens: slice


class Items(NamedTuple):
    """N items that a model gives a probability, such as predicted entities.

    Attributes:
        labels: (N,) int64, indices of labels.
        probabilities: (N,).
        is_right: (N,) bool.
        is_predicted: (N,) bool.
    """

    labels: np.ndarray
    probabilities: np.ndarray
    is_right: np.ndarray
    is_predicted: np.ndarray


class Result(NamedTuple):
    """What a model does in a sentence or in a document.

    Attributes:
        counts: (3, C) int64, true positives, predicted and gold.
        num_words: The number of tokens; 0 for documents.
        is_shown: Whether its errors can be shown: none of its tags is unknown.
        items: What has a probability.
        num_gold: (C,), how many items there should be.
        errors: The labels that are concerned, each with what is wrong.
        example: What makes an example of the errors.
    """

    counts: np.ndarray
    num_words: int
    is_shown: bool
    items: Items
    num_gold: np.ndarray
    errors: FrozenSet[Tuple[str, str]]
    example: Any


def places(instance: Instance, output: Mapping[str, Any], num_tokens: int) -> Iterator[Place]:
    """Yields the sentences of an instance, which may be a document."""
    start = 0
    for length in output.get("sentence_lengths", [num_tokens]):
        yield Place(instance, slice(start, start + length))
        start += length


def gold_tensor(instance: Instance, field: str) -> np.ndarray:
    """Returns the indices of an instance's gold tags, or its gold labels, without padding."""
    gold = instance.fields[field]
    return gold.as_tensor(gold.get_padding_lengths()).numpy()
