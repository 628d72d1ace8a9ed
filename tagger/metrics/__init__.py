"""Metrics: precision, recall, F1 and calibration, as counts, as AllenNLP metrics and as tables."""

import tagger.common.needs_allennlp  # noqa: F401
from tagger.metrics.calibration import format_calibration_table
from tagger.metrics.label_metrics import progress_metrics
from tagger.metrics.metrics_table import (
    best_metrics,
    by_number_table,
    format_all_metrics,
    format_metrics,
    format_metrics_file,
    masking_table,
    metrics_tables,
    numbers_of_labels_table,
)
from tagger.metrics.multi_label_metrics import MultiLabelMetrics
from tagger.metrics.segment_metrics import SegmentMetrics
from tagger.metrics.tag_metrics import TagMetrics

__all__ = [
    "MultiLabelMetrics",
    "SegmentMetrics",
    "TagMetrics",
    "best_metrics",
    "by_number_table",
    "format_all_metrics",
    "format_calibration_table",
    "format_metrics",
    "format_metrics_file",
    "masking_table",
    "metrics_tables",
    "numbers_of_labels_table",
    "progress_metrics",
]
