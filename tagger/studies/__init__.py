"""Studies: training runs that differ in a setting, and their results."""

from tagger.studies.jobs import Job, default_num_workers, run_jobs, seeded_jobs
from tagger.studies.results import (
    Column,
    Result,
    format_summary,
    read_results,
    tabulate,
    write_results,
)

__all__ = [
    "Column",
    "Job",
    "Result",
    "default_num_workers",
    "format_summary",
    "read_results",
    "run_jobs",
    "seeded_jobs",
    "tabulate",
    "write_results",
]
