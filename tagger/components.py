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
from tagger.transformers import frozen_transformer_indexer, transformer_indexer
from tagger.tuning import thresholds_callback

__all__ = [
    "data",
    "document_contexts",
    "encoders",
    "frozen_transformer_indexer",
    "heads",
    "label_thresholds",
    "metrics",
    "models",
    "multi_label_losses",
    "predictors",
    "tag_weighting",
    "thresholds_callback",
    "token_embedders",
    "token_losses",
    "training",
    "transformer_indexer",
    "weight_rules",
]
