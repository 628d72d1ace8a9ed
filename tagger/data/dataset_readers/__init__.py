"""Dataset readers."""

from tagger.data.dataset_readers.column import ColumnDatasetReader as ColumnDatasetReader
from tagger.data.dataset_readers.document import DocumentDatasetReader as DocumentDatasetReader
