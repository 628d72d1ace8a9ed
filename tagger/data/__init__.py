"""Dataset readers, fields, a token indexer, a batch sampler and a data loader."""

from tagger.data.data_loaders import BucketedDataLoader as BucketedDataLoader
from tagger.data.dataset_readers import ColumnDatasetReader as ColumnDatasetReader
from tagger.data.fields import LabelSetsField as LabelSetsField
from tagger.data.fields import TagField as TagField
from tagger.data.samplers import OversamplingBatchSampler as OversamplingBatchSampler
from tagger.data.token_indexers import CachedCharactersIndexer as CachedCharactersIndexer
