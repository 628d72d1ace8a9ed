"""Imports all components, which registers them with AllenNLP."""

# ruff: noqa: F401

from tagger import data, metrics, models, predictors, training
from tagger.modules import (
    counted_multi_label_losses,
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
