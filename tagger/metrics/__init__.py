"""Metrics."""

from tagger.metrics.calibration import format_calibration_table
from tagger.metrics.calibration_error import CalibrationError
from tagger.metrics.headlines import headlines
from tagger.metrics.multi_label_scores import MultiLabelScores
from tagger.metrics.score_table import best_scores, format_scores, score_tables
from tagger.metrics.tag_scores import TagScores

__all__ = [
    "CalibrationError",
    "MultiLabelScores",
    "TagScores",
    "best_scores",
    "format_calibration_table",
    "format_scores",
    "headlines",
    "score_tables",
]
