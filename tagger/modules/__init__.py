"""Modules: encoders, the CRF, its weightings, rules for weights, and tagging heads."""

from tagger.modules.chain_decoder import ChainDecoder
from tagger.modules.conditional_random_field import ConditionalRandomField
from tagger.modules.encoders import BiLstmEncoder
from tagger.modules.heads import ChainHead, CrfHead, SigmoidHead, SoftmaxHead, TaggingHead
from tagger.modules.label_thresholds import LabelThresholds
from tagger.modules.multi_label_losses import MultiLabelLoss
from tagger.modules.tag_weighting import (
    EmissionTransitionWeighting,
    EmissionWeighting,
    LannoyWeighting,
    TagWeighting,
)
from tagger.modules.token_embedders import DistinctCharactersEncoder
from tagger.modules.token_losses import TokenLoss
from tagger.modules.weight_rules import WeightRule

__all__ = [
    "BiLstmEncoder",
    "ChainDecoder",
    "ChainHead",
    "ConditionalRandomField",
    "CrfHead",
    "DistinctCharactersEncoder",
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
