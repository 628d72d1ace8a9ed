"""Metrics."""

from tagger.metrics.headlines import headlines
from tagger.metrics.multi_label_scores import MultiLabelScores
from tagger.metrics.score_table import best_scores, format_scores
from tagger.metrics.tag_scores import TagScores

__all__ = ["MultiLabelScores", "TagScores", "best_scores", "format_scores", "headlines"]
