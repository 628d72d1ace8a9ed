"""How often each label occurs in data, and in how many items."""

from typing import Dict, Iterable, Mapping, Optional


class LabelCounts(Dict[str, Dict[str, int]]):
    """How often each label occurs: `counts[namespace][label]`.

    An item is a thing with labels of its own: a token, or a whole text.

    Args:
        counts: The counts to start from; none by default.
        num_items: The numbers of items that go with them.

    Attributes:
        num_items: By namespace, the number of items whose labels are known. An item may have several
            labels or none, so this need not be the sum of the counts.

    Example:
        >>> counts = LabelCounts({"labels": {"A": 2, "B": 1}}, {"labels": 10})
        >>> counts += LabelCounts({"labels": {"A": 1}}, {"labels": 5})
        >>> counts, counts.num_items
        ({'labels': {'A': 3, 'B': 1}}, {'labels': 15})
    """

    def __init__(
        self,
        counts: Optional[Mapping[str, Mapping[str, int]]] = None,
        num_items: Optional[Mapping[str, int]] = None,
    ) -> None:
        counts = counts or {}
        super().__init__({namespace: dict(by_label) for namespace, by_label in counts.items()})
        self.num_items: Dict[str, int] = dict(num_items or {})

    def add(self, namespace: str, labels: Iterable[str], num_items: int) -> None:
        """Counts the labels of some items.

        Args:
            namespace: The namespace of the labels.
            labels: All known labels of these items, each as often as it occurs.
            num_items: The number of items whose labels are known.
        """
        for label in labels:
            by_label = self.setdefault(namespace, {})
            by_label[label] = by_label.get(label, 0) + 1
        self.num_items[namespace] = self.num_items.get(namespace, 0) + num_items

    def __add__(self, other: "LabelCounts") -> "LabelCounts":
        total = LabelCounts(self, self.num_items)
        for namespace, by_label in other.items():
            mine = total.setdefault(namespace, {})
            for label, count in by_label.items():
                mine[label] = mine.get(label, 0) + count
        for namespace, number in other.num_items.items():
            total.num_items[namespace] = total.num_items.get(namespace, 0) + number
        return total
