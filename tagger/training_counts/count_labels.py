"""Counts the labels of instances."""

from typing import TYPE_CHECKING, Iterable

from tagger.training_counts.label_counts import LabelCounts

if TYPE_CHECKING:
    from allennlp.data import Instance


def count_labels(instances: "Iterable[Instance]") -> LabelCounts:
    """Counts the labels of all fields that hold labels.

    These are AllenNLP's label fields, and every field with a method `count_labels(counts)` that adds its
    own.
    """
    # The CRF, which needs no AllenNLP, imports this package.
    from allennlp.data.fields import LabelField, MultiLabelField, SequenceLabelField

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
