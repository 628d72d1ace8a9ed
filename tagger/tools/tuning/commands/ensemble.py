"""The subcommand `allennlp ensemble a.tar.gz b.tar.gz -o ensemble.tar.gz`."""

import argparse
from pathlib import Path

from allennlp.commands.subcommand import Subcommand
from allennlp.common.checks import ConfigurationError

from tagger.commands.command import Command
from tagger.common.console import say


@Subcommand.register("ensemble")
class Ensemble(Command):
    """Make an ensemble of saved taggers.

    Join several archives into one. The taggers must have the same vocabulary and dataset reader, for
    example because one config was trained with several seeds. `evaluate` and `predict` take the new
    archive.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("archives", type=Path, nargs="+", metavar="archive", help="the archives to join")
        add("-o", "--output", type=Path, required=True, help="the archive to write")
        choices = ("emissions", "marginals")
        text = "whether to average the taggers' scores or their probabilities"
        add("--average", choices=choices, default="emissions", help=text)

    def run(self, args: argparse.Namespace) -> None:
        from allennlp.models import load_archive

        from tagger.common.locations import check_output
        from tagger.models.ensemble_archive import write_ensemble

        check_output(args.output, args.archives)
        if len({path.resolve() for path in args.archives}) < 2:
            raise ConfigurationError(
                f"an ensemble needs at least two different archives; got {args.archives[0]} alone"
            )
        archives = [load_archive(path) for path in args.archives]
        write_ensemble(args.archives, archives, args.output, args.average)
        say(f"Wrote {args.output}: {len(archives)} taggers, average of {args.average}")
