"""The subcommand `show-scores`: prints the tables of the metrics in a file.

allennlp show-scores runs/x/metrics.json
"""

import argparse
from pathlib import Path

from allennlp.commands.subcommand import Subcommand


@Subcommand.register("show-scores")
class ShowScores(Subcommand):
    """Prints what training and `evaluate` print at their end, of a file that they have written."""

    def add_subparser(self, parser: argparse._SubParsersAction) -> argparse.ArgumentParser:
        """Adds the subcommand's options."""
        subparser = parser.add_parser(
            self.name,
            description="Print tables of metrics: of a training run, those of its best epoch.",
            help="Print the metrics of a run or an evaluation as tables.",
        )
        subparser.add_argument(
            "metrics",
            type=Path,
            help="a run's metrics.json, or the file of `evaluate --output-file`",
        )
        subparser.set_defaults(func=show_scores_from_args)
        return subparser


def show_scores_from_args(args: argparse.Namespace) -> None:
    """Runs the subcommand; prints errors to standard error and exits with status 1."""
    from tagger.commands.last_words import errors_in_one_line
    from tagger.metrics import format_metrics_file

    with errors_in_one_line("show-scores"):
        print(format_metrics_file(args.metrics))
