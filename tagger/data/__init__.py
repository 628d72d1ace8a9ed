"""Dataset readers, fields, token indexers, batch samplers and data loaders."""

from typing import TYPE_CHECKING

import tagger.common.needs_allennlp  # noqa: F401
from tagger.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from tagger.data.data_loaders.bucketed import BucketedDataLoader
    from tagger.data.dataset_readers.column import ColumnDatasetReader
    from tagger.data.dataset_readers.document import DocumentDatasetReader
    from tagger.data.dataset_readers.numeric_sequences import NumericSequencesDatasetReader
    from tagger.data.fields.label_sets_field import LabelSetsField
    from tagger.data.fields.numbers_field import NumbersField
    from tagger.data.fields.tag_field import TagField
    from tagger.data.fields.tag_sets_field import TagSetsField
    from tagger.data.samplers.bagging import BaggingBatchSampler
    from tagger.data.samplers.rare_labels import (
        OversamplingBatchSampler,
        UndersamplingBatchSampler,
    )
    from tagger.data.samplers.sentence_resampling import SentenceResamplingBatchSampler
    from tagger.data.token_indexers.cached_characters import CachedCharactersIndexer
    from tagger.data.tokenizers import (
        BlanksTokenizer,
        CharactersTokenizer,
        LanguageRulesTokenizer,
        PunctuationTokenizer,
        RegularExpressionTokenizer,
        WordsTokenizer,
    )

__all__ = [
    "BaggingBatchSampler",
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

lazy_names(__name__)
