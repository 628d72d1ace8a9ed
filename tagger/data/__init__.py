"""Dataset readers and fields."""

from tagger.data.dataset_readers import ColumnDatasetReader as ColumnDatasetReader
from tagger.data.fields import TagField as TagField
