"""The subcommand `report`: writes a page of HTML on a training run or on a weighting study.

allennlp report runs/x -o report.html
allennlp report runs/study/results.csv -o report.html
"""

import argparse
from pathlib import Path

from allennlp.commands.subcommand import Subcommand


@Subcommand.register("report")
class Report(Subcommand):
    """Writes a report as a self-contained page."""

    def add_subparser(self, parser: argparse._SubParsersAction) -> argparse.ArgumentParser:
        """Adds the subcommand's options."""
        description = (
            "Write a page on a training run: its epochs, and the model's metrics, probabilities "
            "and errors on the validation data or on --data. Or on a weighting study."
        )
        subparser = parser.add_parser(
            self.name, description=description, help="Write a page on a run or a weighting study."
        )
        subparser.add_argument(
            "source", type=Path, help="a run's folder, or a weighting study's results.csv"
        )
        subparser.add_argument("-o", "--output", type=Path, required=True, help="the page to write")
        subparser.add_argument(
            "--figures", type=Path, help="a folder for the figures as .svg files"
        )
        run = subparser.add_argument_group("options for a training run")
        run.add_argument("--data", help="what to evaluate on; the run's validation data by default")
        run.add_argument(
            "--num-errors", type=int, default=100, help="how many sentences with errors to show"
        )
        run.add_argument("--seed", type=int, default=0, help="the seed for drawing these sentences")
        study = subparser.add_argument_group("options for a weighting study")
        study.add_argument(
            "--level", choices=["tokens", "spans"], default="tokens", help="what the metrics count"
        )
        subparser.set_defaults(func=report_from_args)
        return subparser


def report_from_args(args: argparse.Namespace) -> None:
    """Runs the subcommand; prints errors to standard error and exits with status 1."""
    from tagger.commands.last_words import errors_in_one_line
    from tagger.reports import read_weighting_results, write_run_report, write_study_report

    with errors_in_one_line("report"):
        if args.source.is_dir():
            write_run_report(
                args.source, args.output, args.data, args.figures, args.num_errors, args.seed
            )
        else:
            results = read_weighting_results(args.source)
            write_study_report(results, args.output, args.figures, args.level)
