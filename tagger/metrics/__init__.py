"""Metrics."""

from tagger.metrics.headlines import headlines
from tagger.metrics.multi_label_scores import MultiLabelScores
from tagger.metrics.span_scores import SpanScores
from tagger.metrics.span_table import format_span_table

__all__ = ["MultiLabelScores", "SpanScores", "format_span_table", "headlines"]
