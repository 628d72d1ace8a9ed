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
    """N items that a model gives a probability, such as predicted entities."""

    labels: np.ndarray  # (N,) int64, indices of labels
    probabilities: np.ndarray  # (N,)
    is_right: np.ndarray  # (N,) bool
    is_predicted: np.ndarray  # (N,) bool


class Result(NamedTuple):
    """What a model does in a sentence or in a document."""

    counts: np.ndarray  # (3, C) int64, true positives, predicted and gold
    num_words: int  # The number of tokens; 0 for documents
    is_shown: bool  # Whether its errors can be shown: none of its tags is unknown
    items: Items  # What has a probability
    num_gold: np.ndarray  # (C,), how many items there should be
    errors: FrozenSet[Tuple[str, str]]  # The labels that are concerned, each with what is wrong
    example: Any  # What makes an example of the errors


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
