"""Like AllenNLP's `find-lr`, but `--force` deletes only training runs."""

import argparse

from allennlp.commands import Subcommand
from allennlp.commands.find_learning_rate import FindLearningRate as AllenNlpFindLearningRate
from allennlp.common import Params

from tagger.commands.command import wrapped
from tagger.commands.train import Run, check_folder


@Subcommand.register("find-lr", exist_ok=True)
class FindLearningRate(AllenNlpFindLearningRate):
    """Finds a learning rate as AllenNLP does; `--force` deletes only training runs."""

    def add_subparser(self, parser: argparse._SubParsersAction) -> argparse.ArgumentParser:
        return wrapped(super().add_subparser(parser), _find)


def _find(find: Run, args: argparse.Namespace) -> None:
    check_folder(args, Params.from_file(args.param_path, args.overrides), args.force)
    find(args)
