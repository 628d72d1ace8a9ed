"""The base class of our subcommands, and the arguments that several of them share."""

import argparse
import functools
import inspect
import re
from typing import Any, Callable, Dict, Iterable, Optional, Union

from allennlp.commands.subcommand import Subcommand

from tagger.commands.error_reporting import errors_in_one_line


def column(text: str) -> Union[int, str]:
    """Parses a column's number or name."""
    return int(text) if re.fullmatch(r"-?\d+", text) else text


_SHARED: Dict[str, Dict[str, Any]] = {
    "--batch-size": {"type": int, "default": 64, "help": "how many sentences to process together"},
    "--cuda-device": {"type": int, "default": -1, "help": "the GPU's id; -1 for the CPU"},
    "--documents": {
        "metavar": "HOW",
        "help": "what marks the documents that sentences belong to: docstart, comments, blank_lines, "
        "or a column's number, from 0; a key of JSON objects, such as doc_id or meta.doc; texts, if "
        "each text is a document; or none. By default the first of these that the file has",
    },
    "--force": {"action": "store_true", "help": "overwrite the output"},
    "--label-names": {
        "nargs": "+",
        "metavar": "TAG",
        "help": "the names of integer tags, in order from 0",
    },
    "--offsets": {
        "choices": ("characters", "bytes", "utf16", "inclusive"),
        "help": "the unit of entity offsets; characters by default, or characters with inclusive ends",
    },
    "--quiet": {
        "action": "store_true",
        "help": "leave out the first sentences, and the longest and most frequent entities",
    },
    "--overlapping": {
        "choices": ("longest", "outermost"),
        "help": "which of several overlapping entities of one label to keep",
    },
    "--text-encoding": {
        "help": "the encoding of the text, such as utf-8 or cp1251; by default guessed"
    },
    "--token-column": {"type": column, "help": "the column of the tokens, from 0, or its name"},
    "--tag-column": {"type": column, "help": "the column of the tags, from 0, or its name"},
    "--workers": {"type": int, "help": "how many jobs run in parallel; one per core by default"},
}


class HelpFormatter(argparse.HelpFormatter):
    """Formats help in 75 columns; the usage line omits options, which are listed below it anyway."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=75)

    def add_usage(
        self,
        usage: Optional[str],
        actions: Iterable[argparse.Action],
        groups: Iterable[Any],
        prefix: Optional[str] = None,
    ) -> None:
        needed = [each for each in actions if each.required or not each.option_strings]
        self._prog += " [options]"
        super().add_usage(usage, needed, [], prefix)


class Command(Subcommand):
    """A subcommand. Its errors print as one line and exit with status 1.

    The docstring's summary appears in the list of commands, and the rest opens its `--help`.

    `allennlp --help` imports all subcommands, so import slow libraries inside `run`.
    """

    def add_subparser(self, parser: argparse._SubParsersAction) -> argparse.ArgumentParser:
        summary, _, description = (inspect.getdoc(self) or "").partition("\n\n")
        subparser: argparse.ArgumentParser = parser.add_parser(
            self.name, description=description, help=summary, formatter_class=HelpFormatter
        )
        self.add_arguments(subparser)
        subparser.set_defaults(func=self._run)
        return subparser

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Adds the subcommand's arguments."""
        raise NotImplementedError

    def run(self, args: argparse.Namespace) -> None:
        """Does the work. A `ConfigurationError`, `OSError` or `ValueError` prints as one line."""
        raise NotImplementedError

    def _run(self, args: argparse.Namespace) -> None:
        with errors_in_one_line(self.name):
            self.run(args)


def add_shared(parser: argparse.ArgumentParser, *options: str) -> None:
    """Adds options that several subcommands share, such as `--force`."""
    for option in options:
        parser.add_argument(option, **_SHARED[option])


def wrapped(
    subparser: argparse.ArgumentParser, run: Callable[[Callable[..., Any], argparse.Namespace], Any]
) -> argparse.ArgumentParser:
    """Gives an AllenNLP subcommand our help format, and passes its function to `run`."""
    subparser.formatter_class = HelpFormatter
    subparser.set_defaults(func=functools.partial(run, subparser.get_default("func")))
    return subparser
