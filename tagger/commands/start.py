"""The subcommand `start`: writes a config for the user's own file.

allennlp start train.txt dev.txt -o mine.jsonnet
"""

import argparse
from pathlib import Path

from allennlp.commands.subcommand import Subcommand


@Subcommand.register("start")
class Start(Subcommand):
    """Looks at a column file, and writes a config that trains a tagger on it."""

    def add_subparser(self, parser: argparse._SubParsersAction) -> argparse.ArgumentParser:
        """Adds the subcommand's options."""
        description = (
            "Write a config for your own file: a token and its tag on each line, a blank line "
            "after each sentence. It finds out what separates the columns, which one holds the "
            "tags and what they mean, the encoding of the text, the labels and the sizes, and says"
            " what it chose."
        )
        subparser = parser.add_parser(
            self.name, description=description, help="Write a config for your own file."
        )
        subparser.add_argument("train", type=Path, help="the training file")
        subparser.add_argument(
            "dev",
            type=Path,
            nargs="?",
            help="the development file; without it, the training file is split",
        )
        subparser.add_argument(
            "-o",
            "--output",
            type=Path,
            required=True,
            help="the config to write; parts and copies of your files get names like it",
        )
        subparser.add_argument("--force", action="store_true", help="overwrite the output")
        subparser.add_argument("--seed", type=int, default=0, help="the seed of the split")
        subparser.add_argument(
            "--text-encoding", help="the encoding of the text, such as utf-8 or cp1251"
        )
        subparser.add_argument("--token-column", type=int, help="the column of the tokens, from 0")
        subparser.add_argument("--tag-column", type=int, help="the column of the tags, from 0")
        subparser.set_defaults(func=start_from_args)
        return subparser


def start_from_args(args: argparse.Namespace) -> None:
    """Runs the subcommand; prints errors to standard error and exits with status 1."""
    from tagger.commands.command_line import check_output
    from tagger.commands.last_words import errors_in_one_line
    from tagger.common.files import write_atomically
    from tagger.starter import start

    with errors_in_one_line("start"):
        inputs = [path for path in (args.train, args.dev) if path]
        started = start(
            inputs,
            args.output,
            args.seed,
            args.text_encoding,
            args.token_column,
            args.tag_column,
        )
        for path in started.files:
            check_output(path, inputs, args.force)
        for path, text in started.files.items():
            with write_atomically(path, args.force) as new:
                new.write_bytes(text.encode())
        print("\n".join(started.said))
