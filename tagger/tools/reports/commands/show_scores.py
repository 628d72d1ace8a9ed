"""The subcommand `allennlp show-scores runs/x`."""

import argparse
from pathlib import Path

from allennlp.commands.subcommand import Subcommand

from tagger.commands.command import Command
from tagger.common.console import say


@Subcommand.register("show-scores")
class ShowScores(Command):
    """Print the metrics of a run or an evaluation as tables.

    Print the metrics of an evaluation, or of a training run's best epoch, as tables.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        text = "a run's folder or its metrics.json, or a file from `evaluate --output-file`"
        parser.add_argument("metrics", type=Path, help=text)

    def run(self, args: argparse.Namespace) -> None:
        from tagger.metrics import format_metrics_file

        say(format_metrics_file(args.metrics))
