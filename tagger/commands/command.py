"""The base of our subcommands, and the arguments that several of them take."""

import argparse
import functools
import inspect
import re
from typing import Any, Callable, Dict, Iterable, Optional, Union

from allennlp.commands.subcommand import Subcommand

from tagger.commands.error_reporting import errors_in_one_line


def column(text: str) -> Union[int, str]:
    """Returns the number of a column, or its name."""
    return int(text) if re.fullmatch(r"-?\d+", text) else text


_SHARED: Dict[str, Dict[str, Any]] = {
    "--batch-size": {"type": int, "default": 64, "help": "how many sentences to process together"},
    "--cuda-device": {"type": int, "default": -1, "help": "the GPU's id; -1 for the CPU"},
    "--documents": {
        "metavar": "HOW",
        "help": "what tells which sentences belong to one document: docstart, comments or blank_lines, "
        "or the number of a column, from 0; or the key of JSON objects, such as doc_id or meta.doc, or "
        "texts if each text is a document; or none. By default the first that does",
    },
    "--force": {"action": "store_true", "help": "overwrite the output"},
    "--label-names": {
        "nargs": "+",
        "metavar": "TAG",
        "help": "the names of tags that are integers, in order from 0",
    },
    "--offsets": {
        "choices": ("characters", "bytes", "utf16"),
        "help": "what the offsets of entities count; characters by default",
    },
    "--text-encoding": {
        "help": "the encoding of the text, such as utf-8 or cp1251; by default guessed"
    },
    "--token-column": {"type": column, "help": "the column of the tokens, from 0, or its name"},
    "--tag-column": {"type": column, "help": "the column of the tags, from 0, or its name"},
    "--workers": {"type": int, "help": "how many jobs run in parallel; one per core by default"},
}


class HelpFormatter(argparse.HelpFormatter):
    """Formats help in 75 columns, and usage without the optional arguments that follow it anyway."""

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
    """A subcommand: its arguments, and its run, whose errors are one line and exit status 1.

    The summary of its docstring is its line in the list of commands, and the rest opens its `--help`.

    AllenNLP imports all subcommands to run one of them, so slow libraries are imported inside
    `run`.
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
        """Does the work. A `ConfigurationError`, `OSError` or `ValueError` ends it with one line."""
        raise NotImplementedError

    def _run(self, args: argparse.Namespace) -> None:
        with errors_in_one_line(self.name):
            self.run(args)


def add_shared(parser: argparse.ArgumentParser, *options: str) -> None:
    """Adds options that mean the same for several subcommands, such as `--force`."""
    for option in options:
        parser.add_argument(option, **_SHARED[option])


def wrapped(
    subparser: argparse.ArgumentParser, run: Callable[[Callable[..., Any], argparse.Namespace], Any]
) -> argparse.ArgumentParser:
    """Has a subcommand of AllenNLP print our help, and run by `run`, which gets its own function."""
    subparser.formatter_class = HelpFormatter
    subparser.set_defaults(func=functools.partial(run, subparser.get_default("func")))
    return subparser
