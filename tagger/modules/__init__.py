"""Modules: encoders, contexts of documents, the CRF, its weightings, rules for weights, and heads.

The CRF and its weightings need no AllenNLP. The other names are imported lazily.
"""

from typing import TYPE_CHECKING

from tagger.common.lazy_names import lazy_names
from tagger.modules.chain_decoder import ChainDecoder as ChainDecoder
from tagger.modules.conditional_random_field import ConditionalRandomField as ConditionalRandomField
from tagger.modules.tag_weighting import (
    EmissionTransitionWeighting as EmissionTransitionWeighting,
    EmissionWeighting as EmissionWeighting,
    LannoyWeighting as LannoyWeighting,
    TagWeighting as TagWeighting,
)
from tagger.modules.weight_rules import WeightRule as WeightRule

if TYPE_CHECKING:
    from tagger.modules.document_contexts import DocumentContext as DocumentContext
    from tagger.modules.encoders.bilstm import BiLstmEncoder as BiLstmEncoder
    from tagger.modules.heads import (
        ChainHead as ChainHead,
        CrfHead as CrfHead,
        SigmoidHead as SigmoidHead,
        SoftmaxHead as SoftmaxHead,
        TaggingHead as TaggingHead,
    )
    from tagger.modules.label_thresholds import LabelThresholds as LabelThresholds
    from tagger.modules.multi_label_losses import MultiLabelLoss as MultiLabelLoss
    from tagger.modules.token_embedders.distinct_characters_encoder import (
        DistinctCharactersEncoder as DistinctCharactersEncoder,
    )
    from tagger.modules.token_losses import TokenLoss as TokenLoss

lazy_names(__name__)
