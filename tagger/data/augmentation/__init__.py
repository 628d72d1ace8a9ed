"""Draws changed versions of training sentences."""

from tagger.data.augmentation.augmenter import Augmenter

__all__ = ["Augmenter"]
