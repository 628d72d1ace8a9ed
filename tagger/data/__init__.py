"""Dataset readers, fields, token indexers, batch samplers and data loaders."""

import tagger.common.needs_allennlp  # noqa: F401
from tagger.data.data_loaders import BucketedDataLoader
from tagger.data.dataset_readers import ColumnDatasetReader, DocumentDatasetReader
from tagger.data.fields import LabelSetsField, TagField, TagSetsField
from tagger.data.samplers import OversamplingBatchSampler
from tagger.data.token_indexers import CachedCharactersIndexer

__all__ = [
    "BucketedDataLoader",
    "CachedCharactersIndexer",
    "ColumnDatasetReader",
    "DocumentDatasetReader",
    "LabelSetsField",
    "OversamplingBatchSampler",
    "TagField",
    "TagSetsField",
]
