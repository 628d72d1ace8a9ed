"""The subcommand `split`: splits a data set so that train, dev and test have their share of each label.

allennlp split labelled.txt splits
allennlp split documents.jsonl splits --label-key topics
"""

import argparse
from pathlib import Path

from allennlp.commands.subcommand import Subcommand


@Subcommand.register("split")
class Split(Subcommand):
    """Writes the parts of a stratified split."""

    def add_subparser(self, parser: argparse._SubParsersAction) -> argparse.ArgumentParser:
        """Adds the subcommand's options."""
        description = (
            "Split a file into train, dev and test so that each has its share of each label. A "
            "column file is split by the labels of its tags; with --label-key, a file of JSON "
            "objects, one on each line, by the list of labels under that key. Nothing is "
            "overwritten. Lines -DOCSTART- are left out. Copies of a sentence may go to different "
            "parts."
        )
        subparser = parser.add_parser(
            self.name, description=description, help="Split a data set by its labels."
        )
        subparser.add_argument("file", type=Path)
        subparser.add_argument(
            "folder", type=Path, help="gets train, dev and test, with the suffix of the file"
        )
        subparser.add_argument(
            "--shares",
            type=float,
            nargs=3,
            default=[0.8, 0.1, 0.1],
            metavar=("TRAIN", "DEV", "TEST"),
            help="a share of 0 makes no file",
        )
        subparser.add_argument("--seed", type=int, default=0, help="the seed of the random choices")
        subparser.add_argument(
            "--label-key", metavar="KEY", help="of the labels, in files of JSON lines"
        )
        subparser.add_argument(
            "--tag-column", type=int, default=-1, help="of a column file, from 0"
        )
        subparser.add_argument(
            "--label-separator", help="between two labels of a token, if it has several"
        )
        subparser.add_argument("--unknown-tag", help="the string that marks what is unknown")
        subparser.set_defaults(func=split_from_args)
        return subparser


def split_from_args(args: argparse.Namespace) -> None:
    """Runs the subcommand; prints errors to standard error and exits with status 1."""
    from tagger.commands.last_words import errors_in_one_line
    from tagger.data.split_file import (
        paths_of_parts,
        read_column_file,
        read_documents,
        split_items,
        summarize,
        write_parts,
    )

    with errors_in_one_line("split"):
        paths = paths_of_parts(args.folder, args.file.suffix, args.shares)
        if args.label_key:
            items = read_documents(args.file, args.label_key)
        else:
            items = read_column_file(
                args.file, args.tag_column, args.label_separator, args.unknown_tag
            )
        split = split_items(items, args.shares, args.seed)
        write_parts(split, paths, separator="\n" if args.label_key else "\n\n")
        print(f"Wrote {', '.join(path.name for path in paths.values())} to {args.folder}\n")
        print(summarize(split))
