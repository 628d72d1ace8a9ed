"""Predictors."""

import tagger.common.needs_allennlp  # noqa: F401
from tagger.predictors.batched_predictor import BatchedPredictor
from tagger.predictors.document_classifier import DocumentClassifierPredictor
from tagger.predictors.line_evaluator import LineEvaluator, LineSerializer
from tagger.predictors.sequence_tagger import SequenceTaggerPredictor

__all__ = [
    "BatchedPredictor",
    "DocumentClassifierPredictor",
    "LineEvaluator",
    "LineSerializer",
    "SequenceTaggerPredictor",
]
