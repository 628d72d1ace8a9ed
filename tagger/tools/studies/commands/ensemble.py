"""The subcommand `allennlp ensemble a.tar.gz b.tar.gz -o ensemble.tar.gz`."""

import argparse
from pathlib import Path
from typing import Dict, List

from allennlp.commands.subcommand import Subcommand
from allennlp.common.checks import ConfigurationError

from tagger.commands.command import Command, add_shared
from tagger.common.console import say

_CONFIGS = (".json", ".jsonnet")


@Subcommand.register("ensemble")
class Ensemble(Command):
    """Make an ensemble of taggers.

    Join several archives of taggers, or of document classifiers, into one. They must have the same
    vocabulary and dataset reader, for example because one config was trained with several seeds.
    `evaluate` and `predict` take the new archive. Of configs, the members are trained first, each
    config with each of the `--seeds`, side by side; with `--bagging`, each on another bootstrap sample
    of the documents. Repeat an interrupted command to train the rest.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        text = "the archives to join, or configs to train"
        add("archives", type=Path, nargs="+", metavar="archive", help=text)
        add("-o", "--output", type=Path, required=True, help="the archive to write")
        choices = ("emissions", "marginals")
        text = "whether to average the taggers' scores or their probabilities"
        add("--average", choices=choices, default="emissions", help=text)
        add("-s", dest="folder", type=Path, help="the folder for the members that are trained")
        text = "train each config with each of these seeds"
        add("--seeds", type=int, nargs="+", default=[1, 2, 3], help=text)
        text = "train each member on as many documents, drawn with replacement"
        add("--bagging", action="store_true", help=text)
        add_shared(parser, "--workers")

    def run(self, args: argparse.Namespace) -> None:
        from allennlp.models import load_archive

        from tagger.common.locations import check_output
        from tagger.tools.studies.ensemble_archive import write_ensemble

        check_output(args.output, args.archives)
        paths = _members(args)
        if len({path.resolve() for path in paths}) < 2:
            raise ConfigurationError(
                f"an ensemble needs at least two different archives; got {paths[0]} alone"
            )
        archives = [load_archive(path) for path in paths]
        write_ensemble(paths, archives, args.output, args.average)
        say(f"Wrote {args.output}: {len(archives)} members, average of {args.average}")


def _members(args: argparse.Namespace) -> List[Path]:
    """Returns the archives to join; trains those of configs."""
    configs = [path for path in args.archives if path.suffix in _CONFIGS]
    if not configs:
        if args.bagging or args.folder:
            raise ConfigurationError(
                "`--bagging` and `-s` are for training, but all members are archives; give configs"
            )
        return list(args.archives)
    if args.folder is None:
        raise ConfigurationError(
            f"{configs[0]} is a config to train; give `-s FOLDER` for its runs"
        )
    from allennlp.common import Params

    from tagger.tools.runs.jobs import default_num_workers
    from tagger.tools.studies.ensembles import train_members

    by_name: Dict[str, dict] = {}
    for path in configs:
        if path.stem in by_name:
            raise ConfigurationError(f"two configs have the name {path.stem}; rename one of them")
        by_name[path.stem] = Params.from_file(path).as_dict(quiet=True)
    workers = args.workers or default_num_workers(by_name[configs[0].stem])
    trained = train_members(by_name, args.seeds, args.bagging, args.folder, workers)
    return [path for path in args.archives if path not in configs] + trained
