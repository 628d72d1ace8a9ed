"""Dataset readers."""

from tagger.data.dataset_readers.column import ColumnDatasetReader as ColumnDatasetReader
