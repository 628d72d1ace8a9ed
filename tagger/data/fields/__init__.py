"""Fields for tags and labels, some of which may be unknown, and for sequences of numbers."""

from tagger.data.fields.label_chains_field import LabelChainsField
from tagger.data.fields.label_sets_field import DocumentLabelsField, LabelSetsField
from tagger.data.fields.numbers_field import NumbersField
from tagger.data.fields.soft_labels_field import SoftLabelsField
from tagger.data.fields.tag_field import TagField
from tagger.data.fields.tag_sets_field import TagSetsField

__all__ = [
    "DocumentLabelsField",
    "LabelChainsField",
    "LabelSetsField",
    "NumbersField",
    "SoftLabelsField",
    "TagField",
    "TagSetsField",
]
