"""Metrics: precision, recall, F1 and calibration, as counts, as AllenNLP metrics and as tables."""

import tagger.common.needs_allennlp  # noqa: F401
from tagger.metrics.calibration import format_calibration_table as format_calibration_table
from tagger.metrics.label_metrics import progress_metrics as progress_metrics
from tagger.metrics.metrics_table import (
    best_metrics as best_metrics,
    by_number_table as by_number_table,
    format_all_metrics as format_all_metrics,
    format_metrics as format_metrics,
    format_metrics_file as format_metrics_file,
    masking_table as masking_table,
    metrics_tables as metrics_tables,
    numbers_of_labels_table as numbers_of_labels_table,
)
from tagger.metrics.multi_label_metrics import MultiLabelMetrics as MultiLabelMetrics
from tagger.metrics.segment_metrics import SegmentMetrics as SegmentMetrics
from tagger.metrics.tag_metrics import TagMetrics as TagMetrics
