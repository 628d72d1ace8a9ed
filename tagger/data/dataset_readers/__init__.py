"""Dataset readers."""

from tagger.data.dataset_readers.column import ColumnDatasetReader
from tagger.data.dataset_readers.document import DocumentDatasetReader
from tagger.data.dataset_readers.numeric_sequences import NumericSequencesDatasetReader
from tagger.data.dataset_readers.soft_labelled import SoftLabelledDatasetReader

__all__ = [
    "ColumnDatasetReader",
    "DocumentDatasetReader",
    "NumericSequencesDatasetReader",
    "SoftLabelledDatasetReader",
]
