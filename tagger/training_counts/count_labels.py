"""Counts the labels of instances."""

from typing import Iterable

from allennlp.data import Instance
from allennlp.data.fields import LabelField, MultiLabelField, SequenceLabelField

from tagger.training_counts.label_counts import LabelCounts


def count_labels(instances: Iterable[Instance]) -> LabelCounts:
    """Counts the labels of all fields that hold labels.

    These are AllenNLP's label fields, and every field with a method `count_labels(counts)` that adds its
    own.
    """
    counts = LabelCounts()
    for instance in instances:
        for field in instance.fields.values():
            if hasattr(field, "count_labels"):
                field.count_labels(counts)
            # AllenNLP's fields count nothing themselves once they are indexed.
            elif isinstance(field, LabelField):
                counts.add(field._label_namespace, [str(field.label)], num_items=1)
            elif isinstance(field, MultiLabelField):
                counts.add(field._label_namespace, map(str, field.labels), num_items=1)
            elif isinstance(field, SequenceLabelField):
                counts.add(field._label_namespace, map(str, field.labels), len(field.labels))
    return counts
