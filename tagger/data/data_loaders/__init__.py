"""Data loaders."""

from tagger.data.data_loaders.bucketed import BucketedDataLoader

__all__ = ["BucketedDataLoader"]
