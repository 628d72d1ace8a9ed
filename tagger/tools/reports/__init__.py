"""HTML reports with figures: one on a training run, one on a study of class weights."""

from tagger.tools.reports.run_report import write_run_report
from tagger.tools.reports.study_report import read_weighting_results, write_study_report

__all__ = ["read_weighting_results", "write_run_report", "write_study_report"]
