"""Imports all components, which registers them with AllenNLP."""

from tagger import data, metrics, models, predictors, training
from tagger.modules import (
    document_contexts,
    encoders,
    heads,
    label_thresholds,
    multi_label_losses,
    tag_weighting,
    token_embedders,
    token_losses,
    weight_rules,
)

__all__ = [
    "data",
    "document_contexts",
    "encoders",
    "heads",
    "label_thresholds",
    "metrics",
    "models",
    "multi_label_losses",
    "predictors",
    "tag_weighting",
    "token_embedders",
    "token_losses",
    "training",
    "weight_rules",
]
