"""Batch samplers."""

from tagger.data.samplers.oversampling import OversamplingBatchSampler
from tagger.data.samplers.sentence_resampling import SentenceResamplingBatchSampler

__all__ = ["OversamplingBatchSampler", "SentenceResamplingBatchSampler"]
