"""Splits data whose items have several labels into parts with the same distribution of labels."""

from typing import Collection, List, Optional, Sequence

import numpy as np


def stratified_split(
    label_sets: Sequence[Collection[str]], shares: Sequence[float], seed: int = 0
) -> List[int]:
    """Assigns items to parts so that each part has its share of each label.

    Iterative stratification (Sechidis, Tsoumakas & Vlahavas 2011, algorithm 1): it takes the rarest
    label that is left, and assigns each of its items to the part that lacks this label most. Ties go to
    the part that lacks most items, then to a random one. Unlike in the paper, the items of a label come
    in random order, so that the whole split depends on the seed. Items without labels come last and go
    to the part that lacks most items.

    Args:
        label_sets: The labels of each item; empty for an item without labels.
        shares: How much of the data each part gets, above 0; scaled to sum to 1.
        seed: The seed of the random choices.

    Returns:
        The index of each item's part. If no item has more than one label, each part has its share of
        each label to within one item. Otherwise this holds for the rarest label; for the others it holds
        approximately, because items of rarer labels bring them along.

    Raises:
        ValueError: If a share is not above 0.

    Example:
        >>> sorted(stratified_split([["A"], ["A"], ["A"], ["A", "B"]], shares=[3, 1]))
        [0, 0, 0, 1]
    """
    if not shares or not min(shares) > 0:
        raise ValueError(f"`shares` must hold a number above 0 for each part; got {list(shares)}")
    has_label = _label_matrix(label_sets)
    random = np.random.default_rng(seed)
    shares_of_one = np.asarray(shares) / np.sum(shares)
    # How much each part still lacks: (parts,), and (parts, labels).
    lacking_items = shares_of_one * len(label_sets)
    lacking_labels = np.outer(shares_of_one, has_label.sum(0))
    parts = np.full(len(label_sets), -1)

    def assign(items: np.ndarray, label: Optional[int]) -> None:
        for item in random.permutation(items):
            by_label = lacking_items if label is None else lacking_labels[:, label]
            # The last key counts first. Rounded, because equal shares may differ in the last digit.
            keys = random.random(len(shares)), lacking_items.round(6), by_label.round(6)
            part = np.lexsort(keys)[-1]
            parts[item] = part
            lacking_items[part] -= 1
            lacking_labels[part] -= has_label[item]

    while (num_left := has_label[parts < 0].sum(0)).any():
        rarest = random.permutation(np.flatnonzero(num_left == num_left[num_left > 0].min()))[0]
        assign(np.flatnonzero(has_label[:, rarest] & (parts < 0)), rarest)
    assign(np.flatnonzero(parts < 0), None)
    return parts.tolist()


def _label_matrix(label_sets: Sequence[Collection[str]]) -> np.ndarray:
    """Returns whether each item has each label, (items, labels) bool, labels in alphabetical order."""
    labels = sorted(set().union(*label_sets))
    columns = {label: column for column, label in enumerate(labels)}
    matrix = np.zeros((len(label_sets), len(labels)), dtype=bool)
    for row, label_set in zip(matrix, label_sets):
        row[[columns[label] for label in label_set]] = True
    return matrix
