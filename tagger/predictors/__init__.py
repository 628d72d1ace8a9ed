"""Predictors."""

from tagger.predictors.document_classifier import DocumentClassifierPredictor
from tagger.predictors.sequence_tagger import SequenceTaggerPredictor

__all__ = ["DocumentClassifierPredictor", "SequenceTaggerPredictor"]
