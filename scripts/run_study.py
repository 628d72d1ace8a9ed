#!/usr/bin/env python
"""Trains each variant in a study file with several seeds and tabulates the metrics.

    python scripts/run_study.py training_config/studies/wnut17.jsonnet -s runs/wnut17

A study file is Jsonnet with three keys: `variants` maps names to complete configs; `seeds` is a list;
and `columns` describes the table, each column with a `title` and the `metrics` whose mean it shows. Jobs
run in parallel. Start a stopped study again to run the unfinished jobs. The folder gets `runs/`;
`results.csv`, one line per run; and `summary.md`, the table with mean and standard deviation over seeds.
"""

import argparse
from pathlib import Path
from typing import Optional, Sequence

from allennlp.common import Params

from tagger.commands.command_line import errors_in_one_line
from tagger.studies import (
    Column,
    default_num_workers,
    format_summary,
    read_results,
    run_jobs,
    seeded_jobs,
    write_results,
)


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Runs the command line."""
    options = _options(arguments)
    study = Params.from_file(options.study).as_dict(quiet=True)
    missing = [key for key in ("variants", "seeds", "columns") if not study.get(key)]
    if missing:
        raise SystemExit(f"{options.study} lacks the key `{missing[0]}`; see --help")
    jobs = [
        job
        for name, config in study["variants"].items()
        if not options.variants or name in options.variants
        for job in seeded_jobs({"variant": name}, config, study["seeds"])
    ]
    # All variants run with the first seed first, so a preliminary table is complete early.
    jobs.sort(key=lambda job: study["seeds"].index(job.factors["seed"]))
    num_workers = options.workers or default_num_workers(jobs[0].config)
    with errors_in_one_line("run_study.py"):
        failed = run_jobs(jobs, options.folder, num_workers)
        results = read_results(jobs, options.folder)
        write_results(results, options.folder / "results.csv")
        summary = format_summary(results, [Column(**column) for column in study["columns"]])
    (options.folder / "summary.md").write_text(summary + "\n")
    print(summary)
    if failed:
        raise SystemExit(f"{len(failed)} runs failed; see their logs, then start the study again")


def _options(arguments: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("study", type=Path, metavar="STUDY", help="a study file")
    parser.add_argument(
        "-s", dest="folder", type=Path, required=True, help="the folder for the results"
    )
    parser.add_argument("--variants", nargs="+", help="run only these; all by default")
    parser.add_argument(
        "--workers", type=int, help="how many jobs run in parallel; one per core by default"
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
