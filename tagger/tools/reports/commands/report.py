"""The subcommand `allennlp report runs/x -o report.html`, which writes a page of HTML."""

import argparse
from pathlib import Path

from allennlp.commands.subcommand import Subcommand

from tagger.commands.command import Command
from tagger.common.extras import check_installed


@Subcommand.register("report")
class Report(Command):
    """Write a report on a training run.

    Write a page on a training run: its epochs, and the model's metrics, probabilities and errors on the
    validation data or on --data.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("run_folder", type=Path, help="the run's folder")
        add("-o", "--output", type=Path, required=True, help="the page to write")
        add("--figures", type=Path, help="a folder for copies of the figures as .svg files")
        add("--data", help="the file to evaluate on; the run's validation data by default")
        add("--num-errors", type=int, default=100, help="how many sentences with errors to show")
        text = "a folder of `learning-curve`, to show what more labels would bring"
        add("--learning-curve", type=Path, metavar="FOLDER", help=text)
        text = "a folder of `agreement`, to show how far annotators agree"
        add("--agreement", type=Path, metavar="FOLDER", help=text)
        add("--seed", type=int, default=0, help="the seed for drawing these sentences")

    def run(self, args: argparse.Namespace) -> None:
        check_installed("report")
        from tagger.common.files import check_is_file
        from tagger.common.locations import check_not_inputs
        from tagger.tools.reports.run_report import write_run_report

        if args.learning_curve is not None:
            check_is_file(args.learning_curve / "curve.json")
        if args.agreement is not None:
            check_is_file(args.agreement / "agreement.json")
        made = [args.output, *(args.figures.glob("*.svg") if args.figures else ())]
        inputs = [args.run_folder, *([args.data] if args.data else [])]
        check_not_inputs(made, inputs)
        write_run_report(
            args.run_folder,
            args.output,
            args.data,
            args.figures,
            args.num_errors,
            args.seed,
            args.learning_curve,
            args.agreement,
        )
        figures = f", and its figures in {args.figures}" if args.figures else ""
        print(f"Wrote {args.output}{figures}")
