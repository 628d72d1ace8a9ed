"""Strategies that weight the classes of a CRF."""

from tagger.modules.tag_weighting.chain import ChainWeighting
from tagger.modules.tag_weighting.emission import EmissionWeighting
from tagger.modules.tag_weighting.emission_transition import EmissionTransitionWeighting
from tagger.modules.tag_weighting.lannoy import LannoyWeighting
from tagger.modules.tag_weighting.marginal import MarginalWeighting
from tagger.modules.tag_weighting.softmax_margin import SoftmaxMarginWeighting
from tagger.modules.tag_weighting.tag_weighting import TagWeighting

__all__ = [
    "ChainWeighting",
    "EmissionTransitionWeighting",
    "EmissionWeighting",
    "LannoyWeighting",
    "MarginalWeighting",
    "SoftmaxMarginWeighting",
    "TagWeighting",
]
