"""Predictors."""

from typing import TYPE_CHECKING

import tagger.common.needs_allennlp  # noqa: F401
from tagger.common.lazy_names import lazy_names

if TYPE_CHECKING:
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

lazy_names(__name__)
