"""The subcommand `ensemble`: makes one archive of the archives of several sequence taggers.

allennlp ensemble a.tar.gz b.tar.gz -o ensemble.tar.gz
"""

import argparse
from pathlib import Path

from allennlp.commands.subcommand import Subcommand


@Subcommand.register("ensemble")
class Ensemble(Subcommand):
    """Writes an archive of taggers that decide together."""

    def add_subparser(self, parser: argparse._SubParsersAction) -> argparse.ArgumentParser:
        """Adds the subcommand's options."""
        description = (
            "Make one archive of several. The taggers must share their vocabulary and dataset "
            "reader, for example by training one config with several seeds. `evaluate` and "
            "`predict` take the archive."
        )
        subparser = parser.add_parser(
            self.name, description=description, help="Make an ensemble of saved taggers."
        )
        subparser.add_argument("archives", type=Path, nargs="+", metavar="archive")
        subparser.add_argument(
            "-o", "--output", type=Path, required=True, help="the archive to write"
        )
        subparser.add_argument(
            "--average",
            choices=("emissions", "marginals"),
            default="emissions",
            help="the mean of the taggers' scores, or of their probabilities",
        )
        subparser.set_defaults(func=ensemble_from_args)
        return subparser


def ensemble_from_args(args: argparse.Namespace) -> None:
    """Runs the subcommand; prints errors to standard error and exits with status 1."""
    from tagger.commands.command_line import check_output, load_model
    from tagger.commands.last_words import errors_in_one_line
    from tagger.models.ensemble_archive import write_ensemble

    with errors_in_one_line("ensemble"):
        check_output(args.output, args.archives)
        archives = [load_model(path) for path in args.archives]
        write_ensemble(args.archives, archives, args.output, args.average)
        print(f"Wrote {args.output}: {len(archives)} taggers, average of {args.average}")
