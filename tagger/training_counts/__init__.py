"""How often each label occurs in the training data: counting, and what modules derive from it."""

from tagger.training_counts.awaited_counts import AwaitedCounts
from tagger.training_counts.count_labels import count_labels
from tagger.training_counts.counted_labels import CountedLabels
from tagger.training_counts.effective_number import inverse_effective_number
from tagger.training_counts.label_counts import LabelCounts

__all__ = [
    "AwaitedCounts",
    "CountedLabels",
    "LabelCounts",
    "count_labels",
    "inverse_effective_number",
]
