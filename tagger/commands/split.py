"""The subcommand `split`: splits a data set so that train, dev and test have their share of each label.

allennlp split labelled.txt splits
allennlp split documents.jsonl splits --label-key topics
"""

import argparse
from pathlib import Path

from allennlp.commands.subcommand import Subcommand

from tagger.commands.command import Command
from tagger.common.console import say


@Subcommand.register("split")
class Split(Command):
    """Writes the parts of a stratified split."""

    help = "Split a data set by its labels."
    description = (
        "Split a file into train, dev and test so that each has its share of each label. A "
        "column file is split by the labels of its tags; with --label-key, a file of JSON "
        "objects, one on each line, by the list of labels under that key. Texts of an "
        "annotation tool or a library are written as Prodigy's JSON lines, which keep all their "
        "properties. Nothing is overwritten. Lines -DOCSTART- are left out. Copies of a "
        "sentence may go to different parts."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("file", type=Path)
        add("folder", type=Path, help="gets train, dev and test, with the suffix of the file")
        add(
            "--shares",
            type=float,
            nargs=3,
            default=[0.8, 0.1, 0.1],
            metavar=("TRAIN", "DEV", "TEST"),
            help="a share of 0 makes no file",
        )
        add("--seed", type=int, default=0, help="the seed of the random choices")
        add("--label-key", metavar="KEY", help="the key of the labels, in files of JSON lines")
        add("--tag-column", type=int, default=-1, help="the column of the tags, from 0")
        add(
            "--label-separator",
            help="the string between two labels of a token, if a token may have several",
        )
        add("--unknown-tag", help="the string that marks an unknown tag")

    def run(self, args: argparse.Namespace) -> None:
        from tagger.data import split_file
        from tagger.data.formats import recognise

        format = None if args.label_key else recognise(args.file)
        suffix = ".jsonl" if format else args.file.suffix
        paths = split_file.paths_of_parts(args.folder, suffix, args.shares)
        if format:
            items = split_file.read_annotated(args.file, format)
        elif args.label_key:
            items = split_file.read_documents(args.file, args.label_key)
        else:
            items = split_file.read_column_file(
                args.file, args.tag_column, args.label_separator, args.unknown_tag
            )
        split = split_file.split_items(items, args.shares, args.seed)
        split_file.write_parts(split, paths, separator="\n" if format or args.label_key else "\n\n")
        say(f"Wrote {', '.join(path.name for path in paths.values())} to {args.folder}\n")
        say(split_file.summarize(split))
