"""Dataset readers, fields, token indexers, batch samplers and data loaders."""

import tagger.common.needs_allennlp  # noqa: F401
from tagger.data.data_loaders import BucketedDataLoader
from tagger.data.dataset_readers import (
    ColumnDatasetReader,
    DocumentDatasetReader,
    NumericSequencesDatasetReader,
)
from tagger.data.fields import LabelSetsField, NumbersField, TagField, TagSetsField
from tagger.data.samplers import (
    OversamplingBatchSampler,
    SentenceResamplingBatchSampler,
    UndersamplingBatchSampler,
)
from tagger.data.token_indexers import CachedCharactersIndexer
from tagger.data.tokenizers import (
    BlanksTokenizer,
    CharactersTokenizer,
    LanguageRulesTokenizer,
    PunctuationTokenizer,
    RegularExpressionTokenizer,
    WordsTokenizer,
)

__all__ = [
    "BlanksTokenizer",
    "BucketedDataLoader",
    "CachedCharactersIndexer",
    "CharactersTokenizer",
    "ColumnDatasetReader",
    "DocumentDatasetReader",
    "LabelSetsField",
    "LanguageRulesTokenizer",
    "NumbersField",
    "NumericSequencesDatasetReader",
    "OversamplingBatchSampler",
    "PunctuationTokenizer",
    "RegularExpressionTokenizer",
    "SentenceResamplingBatchSampler",
    "TagField",
    "TagSetsField",
    "UndersamplingBatchSampler",
    "WordsTokenizer",
]
