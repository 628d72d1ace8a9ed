"""Taggers in pipelines of Ray Data, and of whatever else hands tables of Arrow to a function."""

from tagger.ray.tagger_actor import TaggerActor

__all__ = ["TaggerActor"]
