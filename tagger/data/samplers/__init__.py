"""Batch samplers."""

from tagger.data.samplers.oversampling import OversamplingBatchSampler

__all__ = ["OversamplingBatchSampler"]
