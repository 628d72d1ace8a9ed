"""The subcommand `allennlp add-label model.tar.gz new.txt -s runs/added`."""

import argparse
import shutil
from pathlib import Path

from allennlp.commands.subcommand import Subcommand

from tagger.commands.command import Command, add_shared
from tagger.common.console import say


@Subcommand.register("add-label")
class AddLabel(Command):
    """Add labels to a saved tagger.

    Teach a saved tagger new labels from sentences in which only these are labelled. It still finds the
    old labels, without needing their data. Repeat an interrupted command to resume it.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("archive_file", type=Path, help="the archived tagger")
        add("input_file", help="the sentences; `O` means that a token has no new label")
        text = "the folder of the training run, where the new model.tar.gz is written"
        add("-s", "--serialization-dir", type=Path, required=True, help=text)
        text = 'JSON to override the archive\'s config, such as {"trainer.num_epochs": 40}'
        add("-o", "--overrides", default="", help=text)
        text = (
            "how much F1 the old labels may lose to the new ones, from 0 to 1; a bias enforces this, "
            "and choosing it takes several trainings"
        )
        add("--most-lost", type=float, default=0.005, metavar="F1", help=text)
        add("--no-bias", action="store_true", help="add the labels without a bias, in less time")
        add_shared(parser, "--force")

    def run(self, args: argparse.Namespace) -> None:
        from tagger.common.locations import check_may_be_removed
        from tagger.common.ranges import check_number
        from tagger.tools.labels.addition import add_labels
        from tagger.training.run_folder import check_is_run, take_folder

        check_number("most_lost", args.most_lost, 0 <= args.most_lost <= 1, "from 0 to 1")
        most_lost = None if args.no_bias else args.most_lost
        folder = args.serialization_dir
        if args.force and folder.exists():
            take_folder(folder)
            check_is_run(folder)
            check_may_be_removed(folder, [args.archive_file, args.input_file])
            shutil.rmtree(folder)
        path = add_labels(
            args.archive_file, args.input_file, folder, args.overrides, most_lost=most_lost
        )
        say(f"Wrote {path}")
