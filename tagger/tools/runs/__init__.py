"""Many trainings at once, and what came of them. Studies and the search for label errors share it."""

from tagger.tools.runs.jobs import Job, default_num_workers, run_jobs, seeded_jobs
from tagger.tools.runs.results import (
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
