"""How often each label occurs in data, and in how many items."""

from collections import defaultdict
from typing import Dict, Iterable, Mapping, Optional

from allennlp.data import Instance
from allennlp.data.fields import LabelField, MultiLabelField, SequenceLabelField

from tagger.data.fields.label_sets_field import LabelSetsField
from tagger.data.fields.tag_field import TagField


class LabelCounts(Dict[str, Dict[str, int]]):
    """How often each label occurs: `counts[namespace][label]`.

    An item is whatever has labels of its own: a token, or the whole text.

    Args:
        counts: the counts to start from, none by default.
        num_items: the numbers of items that go with them.

    Attributes:
        num_items: by namespace, in how many items a label, or the lack of one, is known. Where an item
            may have several labels or none, it is not the sum of the counts.

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
        super().__init__({namespace: dict(of_labels) for namespace, of_labels in counts.items()})
        self.num_items: Dict[str, int] = dict(num_items or {})

    def __add__(self, other: "LabelCounts") -> "LabelCounts":
        total = LabelCounts(self, self.num_items)
        for namespace, of_labels in other.items():
            mine = total.setdefault(namespace, {})
            for label, count in of_labels.items():
                mine[label] = mine.get(label, 0) + count
        for namespace, number in other.num_items.items():
            total.num_items[namespace] = total.num_items.get(namespace, 0) + number
        return total


def count_labels(instances: Iterable[Instance]) -> LabelCounts:
    """Counts the labels of all fields that hold labels."""
    counts: Dict[str, Dict[str, int]] = defaultdict(lambda: defaultdict(int))
    num_items: Dict[str, int] = defaultdict(int)
    for instance in instances:
        for field in instance.fields.values():
            if isinstance(field, (LabelSetsField, TagField)):
                field.count_vocab_items(counts)
            elif isinstance(field, (LabelField, MultiLabelField, SequenceLabelField)):
                # Once they are indexed, AllenNLP's fields count nothing themselves.
                labels = [field.label] if isinstance(field, LabelField) else field.labels
                for label in labels:
                    counts[field._label_namespace][str(label)] += 1
            if isinstance(field, LabelSetsField):
                num_items[field.label_namespace] += field.num_known_items()
            elif isinstance(field, MultiLabelField):
                num_items[field._label_namespace] += 1
    of_single_labels = {namespace: sum(counts[namespace].values()) for namespace in counts}
    return LabelCounts(counts, {**of_single_labels, **num_items})
