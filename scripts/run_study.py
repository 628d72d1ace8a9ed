#!/usr/bin/env python
"""Trains the variants that a study file lists, with several seeds each, and tabulates their scores.

    python scripts/run_study.py training_config/studies/wnut17.jsonnet -s runs/wnut17

A study file is Jsonnet: `variants`, a complete config by name; `seeds`; and `columns`, the table's, each
with a `title` and the `metrics` whose mean it shows. Jobs run side by side. Stopped and started again,
the study goes on with what is not finished. The folder gets `runs/`, `results.csv`, a line for each run,
and `summary.md`, the table: mean and standard deviation over seeds.
"""

import argparse
from pathlib import Path
from typing import Optional, Sequence

from allennlp.common import Params

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
        raise SystemExit(f"{options.study} does not say its `{missing[0]}`; see --help")
    jobs = [
        job
        for name, config in study["variants"].items()
        if not options.variants or name in options.variants
        for job in seeded_jobs({"variant": name}, config, study["seeds"])
    ]
    # All variants with one seed first: a table that is thin, but whole, comes soon.
    jobs.sort(key=lambda job: study["seeds"].index(job.factors["seed"]))
    num_workers = options.workers or default_num_workers(jobs[0].config)
    try:
        failed = run_jobs(jobs, options.folder, num_workers)
        results = read_results(jobs, options.folder)
        write_results(results, options.folder / "results.csv")
        summary = format_summary(results, [Column(**column) for column in study["columns"]])
    except ValueError as error:
        raise SystemExit(str(error)) from None
    (options.folder / "summary.md").write_text(summary + "\n")
    print(summary)
    if failed:
        raise SystemExit(f"{len(failed)} runs failed; mend what their logs say and run this again")


def _options(arguments: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("study", type=Path, metavar="STUDY", help="a study file")
    parser.add_argument("-s", dest="folder", type=Path, required=True, help="where results go")
    parser.add_argument("--variants", nargs="+", help="run these only; all by default")
    parser.add_argument("--workers", type=int, help="jobs side by side; one a core by default")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
