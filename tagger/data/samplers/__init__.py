"""Batch samplers."""

from tagger.data.samplers.oversampling import OversamplingBatchSampler
from tagger.data.samplers.sentence_resampling import SentenceResamplingBatchSampler
from tagger.data.samplers.undersampling import UndersamplingBatchSampler

__all__ = [
    "OversamplingBatchSampler",
    "SentenceResamplingBatchSampler",
    "UndersamplingBatchSampler",
]
