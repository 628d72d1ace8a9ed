"""Modules: encoders, contexts of documents, the CRF, its weightings, rules for weights, and heads.

The CRF and its weightings need no AllenNLP. The other names are imported lazily.
"""

from typing import TYPE_CHECKING

from tagger.common.lazy_names import lazy_names
from tagger.modules.chain_decoder import ChainDecoder
from tagger.modules.conditional_random_field import ConditionalRandomField
from tagger.modules.tag_weighting import (
    EmissionTransitionWeighting,
    EmissionWeighting,
    LannoyWeighting,
    TagWeighting,
)
from tagger.modules.weight_rules import WeightRule

if TYPE_CHECKING:
    from tagger.modules.document_contexts import DocumentContext
    from tagger.modules.encoders.bilstm import BiLstmEncoder
    from tagger.modules.heads import ChainHead, CrfHead, SigmoidHead, SoftmaxHead, TaggingHead
    from tagger.modules.label_thresholds import LabelThresholds
    from tagger.modules.multi_label_losses import MultiLabelLoss
    from tagger.modules.token_embedders.distinct_characters_encoder import DistinctCharactersEncoder
    from tagger.modules.token_losses import TokenLoss

__all__ = [
    "BiLstmEncoder",
    "ChainDecoder",
    "ChainHead",
    "ConditionalRandomField",
    "CrfHead",
    "DistinctCharactersEncoder",
    "DocumentContext",
    "EmissionTransitionWeighting",
    "EmissionWeighting",
    "LabelThresholds",
    "LannoyWeighting",
    "MultiLabelLoss",
    "SigmoidHead",
    "SoftmaxHead",
    "TagWeighting",
    "TaggingHead",
    "TokenLoss",
    "WeightRule",
]

lazy_names(__name__)
