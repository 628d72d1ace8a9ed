"""Splits data whose items have several labels into parts with the same distribution of labels."""

import heapq
from typing import Collection, List, Optional, Sequence, Tuple

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
    _check_shares(shares)
    random = np.random.default_rng(seed)
    shares_of_one = np.asarray(shares) / np.sum(shares)
    labels_of, items_of = _by_number(label_sets)
    num_left = [len(items) for items in items_of]
    # How much each part still lacks: (parts,), and (labels, parts).
    lacking_items = shares_of_one * len(label_sets)
    lacking_labels = np.outer(num_left, shares_of_one)
    parts = np.full(len(label_sets), -1)

    def assign(items: Sequence[int], label: Optional[int]) -> None:
        for item in random.permutation([item for item in items if parts[item] < 0]):
            by_label = lacking_items if label is None else lacking_labels[label]
            # The last key counts first. Rounded, because equal shares may differ in the last digit.
            keys = random.random(len(shares)), lacking_items.round(6), by_label.round(6)
            part = np.lexsort(keys)[-1]
            parts[item] = part
            lacking_items[part] -= 1
            lacking_labels[labels_of[item], part] -= 1
            for each in labels_of[item]:
                num_left[each] -= 1
                heapq.heappush(rarest, (num_left[each], order[each], each))

    # By how many items are left, then at random; entries grow old as items are assigned.
    order = random.permutation(len(items_of)).tolist()
    rarest = sorted(zip(num_left, order, range(len(items_of))))
    while rarest:
        number, _, label = heapq.heappop(rarest)
        if 0 < number == num_left[label]:
            assign(items_of[label], label)
    assign(range(len(label_sets)), None)
    return parts.tolist()


def _check_shares(shares: Sequence[float]) -> None:
    if not shares or not min(shares) > 0:
        raise ValueError(f"`shares` must hold a number above 0 for each part; got {list(shares)}")


def _by_number(label_sets: Sequence[Collection[str]]) -> Tuple[List[List[int]], List[List[int]]]:
    """Returns the labels of each item, and the items of each label, both by number.

    Labels are in alphabetical order.
    """
    labels = sorted(set().union(*label_sets))
    numbers = {label: number for number, label in enumerate(labels)}
    labels_of = [[numbers[label] for label in set(label_set)] for label_set in label_sets]
    items_of: List[List[int]] = [[] for _ in labels]
    for item, item_labels in enumerate(labels_of):
        for label in item_labels:
            items_of[label].append(item)
    return labels_of, items_of
