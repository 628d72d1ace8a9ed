"""Dataset readers."""

from tagger.data.dataset_readers.column import ColumnDatasetReader
from tagger.data.dataset_readers.document import DocumentDatasetReader

__all__ = ["ColumnDatasetReader", "DocumentDatasetReader"]
