"""Predictors."""

from typing import TYPE_CHECKING

import tagger.common.needs_allennlp  # noqa: F401
from tagger.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from tagger.predictors.batched_predictor import BatchedPredictor as BatchedPredictor
    from tagger.predictors.document_classifier import (
        DocumentClassifierPredictor as DocumentClassifierPredictor,
    )
    from tagger.predictors.line_evaluator import (
        LineEvaluator as LineEvaluator,
        LineSerializer as LineSerializer,
    )
    from tagger.predictors.sequence_tagger import SequenceTaggerPredictor as SequenceTaggerPredictor

lazy_names(__name__)
