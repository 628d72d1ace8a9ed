"""Predictors."""

from tagger.predictors.sequence_tagger import SequenceTaggerPredictor

__all__ = ["SequenceTaggerPredictor"]
