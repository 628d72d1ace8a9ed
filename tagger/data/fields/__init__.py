"""Fields that AllenNLP lacks, and what goes with them."""

from tagger.data.fields.label_sets_field import LabelSetsField as LabelSetsField
from tagger.data.fields.tag_field import TagField as TagField
