"""Splits documents with labelled sentences into parts with the same distribution of labels."""

import heapq
from collections import Counter
from typing import Iterable, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

#: The labels of a group, with repetitions, or a count for each.
Labels = Union[Iterable[str], Mapping[str, int]]

#: The number of attempts, of which the best is kept, when there are at most so many groups.
_ATTEMPTS, _FEW_GROUPS = 10, 2_000


def stratified_split(
    labels: Sequence[Labels],
    shares: Sequence[float],
    seed: int = 0,
    sizes: Optional[Sequence[int]] = None,
) -> List[int]:
    """Assigns groups, such as documents, to parts so that each part has its share of each label.

    This is iterative stratification (Sechidis, Tsoumakas & Vlahavas 2011, algorithm 1). It repeatedly
    takes the label with the fewest remaining groups, and assigns each of them to the part that needs
    the label most. Ties go to the part that needs most sentences, then to a random one. Groups without
    labels come last and go to the part that needs most sentences. It differs from the paper:

    - It counts labels and sentences instead of groups, because documents differ in size.
    - First, while it has room, each part gets a group of each label that is in at least as many groups
      as there are parts.
    - A group goes to a part with room for half of it, if there is one.
    - A label's groups come in random order, so the whole split depends on the seed. The best of several
      attempts is kept: the one with the fewest missing labels, then the one closest to the shares.

    A group's `labels` may be counts, `shares` are scaled to sum to 1, and `sizes` are numbers of
    sentences, by default 1. No part is empty. If each group has size 1 and at most one label, each part
    has its share of each frequent label to within one group.

    Example:
        >>> sorted(stratified_split([["A"], ["A"], ["A"], ["A", "B"]], shares=[3, 1]))
        [0, 0, 0, 1]
    """
    check_shares(shares)
    if len(labels) < len(shares):
        raise ValueError(f"{len(labels)} groups cannot be split into {len(shares)} parts")
    attempts = range(_ATTEMPTS if len(labels) <= _FEW_GROUPS else 1)
    made = (_Assignment(labels, shares, (seed, attempt), sizes) for attempt in attempts)
    return min(made, key=lambda each: each.cost()).parts.tolist()


class _Assignment:
    """The groups, the parts, and what each part still needs. G groups, L labels, P parts."""

    def __init__(
        self,
        labels: Sequence[Labels],
        shares: Sequence[float],
        seed: Tuple[int, int],
        sizes: Optional[Sequence[int]],
    ) -> None:
        self.random = np.random.default_rng(seed)
        self.sizes = np.ones(len(labels), dtype=int) if sizes is None else np.asarray(sizes)
        shares_of_one = np.asarray(shares) / np.sum(shares)
        self.counts_of, self.groups_of = _by_number(labels)
        self.totals = np.zeros(len(self.groups_of))
        for numbers, counts in self.counts_of:
            self.totals[numbers] += counts
        # (P,) sentences, and (L, P)
        self.lacking = shares_of_one * self.sizes.sum()
        self.lacking_labels = np.outer(self.totals, shares_of_one)
        self.has_label = np.zeros(self.lacking_labels.shape, dtype=bool)
        self.parts = np.full(len(labels), -1)
        # Sorted by the number of groups left, then randomly; entries become stale with assignments.
        self.num_left = [len(groups) for groups in self.groups_of]
        self.order = self.random.permutation(len(self.groups_of)).tolist()
        self.rarest = sorted(zip(self.num_left, self.order, range(len(self.groups_of))))
        self.is_frequent = np.array(self.num_left) >= len(shares)
        self._assign_all()

    def _assign_all(self) -> None:
        self._spread()
        while self.rarest:
            number, _, label = heapq.heappop(self.rarest)
            if 0 < number == self.num_left[label]:
                for group in self._shuffled(self.groups_of[label]):
                    self._assign(group, self._neediest(group, self.lacking_labels[label]))
        for group in self._shuffled(range(len(self.parts))):
            self._assign(group, self._neediest(group, self.lacking))
        self._fill_empty_parts()

    def cost(self) -> Tuple[int, float]:
        """Returns the number of labels that parts could have but lack, and the deviation from shares."""
        num_missing = int((~self.has_label[self.is_frequent]).sum())
        off = np.abs(self.lacking_labels / self.totals.reshape(-1, 1).clip(1)).sum()
        return num_missing, float(off + np.abs(self.lacking / self.sizes.sum()).sum())

    def _shuffled(self, groups: Iterable[int]) -> List[int]:
        """Returns the unassigned groups in random order."""
        pending = [each for each in groups if self.parts[each] < 0]
        return self.random.permutation(np.array(pending, dtype=int)).tolist()

    def _spread(self) -> None:
        """Gives each part, while it has room, a group of each frequent label, the rarest first.

        Chooses the group with most of the labels that the part needs.
        """
        for label in [label for _, _, label in self.rarest if self.is_frequent[label]]:
            for part in np.argsort(-self.lacking, kind="stable").tolist():
                if self.has_label[label, part] or self.lacking[part] <= 0.5:
                    continue
                pending = self._shuffled(self.groups_of[label])
                fitting = [each for each in pending if self.sizes[each] <= self.lacking[part]]
                if not fitting and pending:
                    fitting = [min(pending, key=self.sizes.__getitem__)]
                lacks = ~self.has_label[:, part] & self.is_frequent
                if fitting:
                    best = max(fitting, key=lambda each: lacks[self.counts_of[each][0]].sum())
                    self._assign(best, part)

    def _neediest(self, group: int, lacking: np.ndarray) -> int:
        """Returns the part with room that most needs what a group has."""
        half = self.sizes[group] / 2
        has_room = (self.lacking >= half) | (half <= 0.5) | (self.lacking.max() < half)
        # The last key counts first. Round, because equal shares may differ in the last digit.
        by = np.where(has_room, lacking, -np.inf).round(6)
        keys = self.random.random(len(lacking)), self.lacking.round(6), by
        return int(np.lexsort(keys)[-1])

    def _assign(self, group: int, part: int) -> None:
        numbers, counts = self.counts_of[group]
        self.parts[group] = part
        self.lacking[part] -= self.sizes[group]
        self.lacking_labels[numbers, part] -= counts
        self.has_label[numbers, part] = True
        for label in numbers:
            self.num_left[label] -= 1
            heapq.heappush(self.rarest, (self.num_left[label], self.order[label], label))

    def _fill_empty_parts(self) -> None:
        """Gives each empty part the smallest group of the part with most groups."""
        num_parts = len(self.lacking)
        for part in range(num_parts):
            if not (self.parts == part).any():
                largest = np.bincount(self.parts, minlength=num_parts).argmax()
                groups = np.flatnonzero(self.parts == largest)
                self.parts[groups[self.sizes[groups].argmin()]] = part


def check_shares(shares: Sequence[float]) -> None:
    """Raises a `ValueError` unless each part has a share above 0."""
    if not shares or not min(shares) > 0:
        raise ValueError(f"`shares` must hold a number above 0 for each part; got {list(shares)}")


def _by_number(
    labels: Sequence[Labels],
) -> Tuple[List[Tuple[List[int], List[int]]], List[List[int]]]:
    """Returns each group's labels with counts, and each label's groups, all as numbers.

    Labels are numbered alphabetically.
    """
    counted = [Counter(each) for each in labels]
    names = sorted(set().union(*counted))
    numbers = {name: number for number, name in enumerate(names)}
    counts_of = [([numbers[name] for name in each], list(each.values())) for each in counted]
    groups_of: List[List[int]] = [[] for _ in names]
    for group, (own, _) in enumerate(counts_of):
        for label in own:
            groups_of[label].append(group)
    return counts_of, groups_of
