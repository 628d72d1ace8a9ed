"""Strategies that weight the classes of a CRF."""

from tagger.modules.tag_weighting.emission import EmissionWeighting
from tagger.modules.tag_weighting.emission_transition import EmissionTransitionWeighting
from tagger.modules.tag_weighting.lannoy import LannoyWeighting
from tagger.modules.tag_weighting.tag_weighting import TagWeighting, tag_weights_from_labels

__all__ = [
    "EmissionTransitionWeighting",
    "EmissionWeighting",
    "LannoyWeighting",
    "TagWeighting",
    "tag_weights_from_labels",
]
