"""Dataset readers, fields, token indexers, batch samplers and data loaders."""

from typing import TYPE_CHECKING

import tagger.common.needs_allennlp  # noqa: F401
from tagger.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from tagger.data.data_loaders.bucketed import BucketedDataLoader as BucketedDataLoader
    from tagger.data.dataset_readers.column import ColumnDatasetReader as ColumnDatasetReader
    from tagger.data.dataset_readers.document import DocumentDatasetReader as DocumentDatasetReader
    from tagger.data.dataset_readers.numeric_sequences import (
        NumericSequencesDatasetReader as NumericSequencesDatasetReader,
    )
    from tagger.data.fields.label_sets_field import LabelSetsField as LabelSetsField
    from tagger.data.fields.numbers_field import NumbersField as NumbersField
    from tagger.data.fields.tag_field import TagField as TagField
    from tagger.data.fields.tag_sets_field import TagSetsField as TagSetsField
    from tagger.data.samplers.bagging import BaggingBatchSampler as BaggingBatchSampler
    from tagger.data.samplers.rare_labels import (
        OversamplingBatchSampler as OversamplingBatchSampler,
        UndersamplingBatchSampler as UndersamplingBatchSampler,
    )
    from tagger.data.samplers.sentence_resampling import (
        SentenceResamplingBatchSampler as SentenceResamplingBatchSampler,
    )
    from tagger.data.token_indexers.cached_characters import (
        CachedCharactersIndexer as CachedCharactersIndexer,
    )
    from tagger.data.tokenizers import (
        BlanksTokenizer as BlanksTokenizer,
        CharactersTokenizer as CharactersTokenizer,
        LanguageRulesTokenizer as LanguageRulesTokenizer,
        PunctuationTokenizer as PunctuationTokenizer,
        RegularExpressionTokenizer as RegularExpressionTokenizer,
        WordsTokenizer as WordsTokenizer,
    )

lazy_names(__name__)
