"""The subcommand `add-label`: teaches a saved tagger labels that it does not know.

allennlp add-label model.tar.gz new.txt -s runs/added
"""

import argparse
import shutil
from pathlib import Path

from allennlp.commands.subcommand import Subcommand

from tagger.commands.command import Command, add_shared
from tagger.common.console import say


@Subcommand.register("add-label")
class AddLabel(Command):
    """Adds labels to a saved tagger from sentences in which they alone are labelled."""

    help = "Add labels to a saved tagger."
    description = (
        "Train a saved tagger on sentences in which new labels alone are labelled, so that it finds "
        "them and goes on finding the old ones. The data of the old ones are not needed. Give a "
        "stopped command again to go on."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("archive_file", type=Path, help="the archived tagger")
        add("input_file", help="the sentences, in which `O` means: no new label")
        text = "the folder of the training run, which gets the new model.tar.gz"
        add("-s", "--serialization-dir", type=Path, required=True, help=text)
        text = 'JSON to override the archive\'s config, such as {"trainer.num_epochs": 40}'
        add("-o", "--overrides", default="", help=text)
        add_shared(parser, "--force")

    def run(self, args: argparse.Namespace) -> None:
        from allennlp.common.checks import ConfigurationError

        from tagger.labels.addition import add_labels
        from tagger.training.run_folder import check_is_run

        folder = args.serialization_dir
        if args.force and folder.exists():
            check_is_run(folder)
            for path in map(Path, (args.archive_file, args.input_file)):
                if path.resolve().is_relative_to(folder.resolve()):
                    raise ConfigurationError(
                        f"`--force` would remove {path}, which is an input; name another folder"
                    )
            shutil.rmtree(folder)
        path = add_labels(args.archive_file, args.input_file, folder, args.overrides)
        say(f"Wrote {path}")
