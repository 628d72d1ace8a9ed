"""Batch samplers."""

from tagger.data.samplers.oversampling import OversamplingBatchSampler as OversamplingBatchSampler
