"""Metrics."""

from tagger.metrics.span_scores import SpanScores
from tagger.metrics.span_table import format_span_table

__all__ = ["SpanScores", "format_span_table"]
