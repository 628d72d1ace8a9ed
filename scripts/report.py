#!/usr/bin/env python
"""Writes a report as a self-contained HTML page.

    python scripts/report.py runs/x -o report.html
    python scripts/report.py runs/study/results.csv -o report.html

The first command reports on a training run: its epochs, and the model's metrics, probabilities and
errors on the validation data or on `--data`. The second reports on a weighting study.
"""

import argparse
from pathlib import Path
from typing import Optional, Sequence

from tagger.commands.command_line import errors_in_one_line
from tagger.reports import read_weighting_results, write_run_report, write_study_report


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Runs the command line."""
    options = _options(arguments)
    with errors_in_one_line("report.py"):
        if options.source.is_dir():
            write_run_report(
                options.source,
                options.output,
                options.data,
                options.figures,
                options.num_errors,
                options.seed,
            )
        else:
            results = read_weighting_results(options.source)
            write_study_report(results, options.output, options.figures, options.level)


def _options(arguments: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "source", type=Path, metavar="SOURCE", help="a run's folder, or a study's results.csv"
    )
    parser.add_argument("-o", dest="output", type=Path, required=True, help="the page's file")
    parser.add_argument("--figures", type=Path, help="a folder for the figures as .svg files")
    run = parser.add_argument_group("options for a training run")
    run.add_argument("--data", help="the file to evaluate on; the run's validation data by default")
    run.add_argument(
        "--num-errors", type=int, default=20, help="how many sentences with errors to show"
    )
    run.add_argument("--seed", type=int, default=0, help="the seed for drawing these sentences")
    study = parser.add_argument_group("options for a weighting study")
    study.add_argument(
        "--level", choices=["tokens", "spans"], default="tokens", help="what the metrics count"
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
