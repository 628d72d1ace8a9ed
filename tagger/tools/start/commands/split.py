"""The subcommand `split`, which splits a data set so that each part has its share of each label.

allennlp split labelled.txt splits
allennlp split documents.jsonl splits --label-key topics
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Tuple

from allennlp.commands.subcommand import Subcommand

from tagger.commands.command import Command, add_shared
from tagger.common.console import say

if TYPE_CHECKING:
    from tagger.tools.start.parts import Source


@Subcommand.register("split")
class Split(Command):
    """Split a data set by its documents and labels.

    Split a file into train, dev and test so that no document is divided and each part has its share of
    each label. A file that marks no documents is split between blocks of neighbouring sentences. The
    command reports how documents were recognised, and how much of dev and test also occurs in train.
    Column files and CoNLL-U keep their lines; other files from annotation tools or libraries become
    Prodigy's JSON lines with all their properties. With --label-key, a file with one JSON object on
    each line is split by the list of labels under that key. Nothing is overwritten.
    """

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
        add("--seed", type=int, default=0, help="the random seed")
        add_shared(parser, "--documents", "--text-encoding", "--token-column", "--tag-column")
        add("--label-key", metavar="KEY", help="the key of the labels, in files of JSON lines")

    def run(self, args: argparse.Namespace) -> None:
        from tagger.tools.start.parts import PARTS, divide, paths_of_parts, table_of, write_parts

        shares = dict(zip(PARTS, args.shares))
        source, suffix = _source(args)
        names = [name for name, share in shares.items() if share != 0]
        paths = paths_of_parts(args.folder, suffix, names)
        division = divide(source, shares, args.seed, args.documents)
        write_parts(division, paths)
        say(f"Wrote {', '.join(path.name for path in paths.values())} to {args.folder}")
        say(f"Kept together: {division.groups.describe(source.noun)}")
        for name, found in division.overlaps().items():
            say(f"{paths[name].name}: {found.describe(source.noun)}")
            if found.warning():
                say(f"  warning: {found.warning()}")
        say(f"\n{table_of(division)}")


def _source(args: argparse.Namespace) -> Tuple["Source", str]:
    """Returns the contents of the file, and the suffix for its parts."""
    from tagger.data.formats import FORMATS, format_of, read_texts
    from tagger.tools.start.parts import (
        source_of_columns,
        source_of_conllu,
        source_of_labelled_texts,
        source_of_texts,
    )
    from tagger.tools.start.survey import survey

    if args.label_key:
        source = source_of_labelled_texts(args.file, args.label_key, args.documents)
        return source, args.file.suffix
    format = format_of(args.file)
    names = ("text_encoding", "token_column", "tag_column")
    given = {name: value for name in names if (value := getattr(args, name)) is not None}
    if format == "columns":
        found = survey([args.file], **given)
        return source_of_columns(found, found.files[0], args.documents), args.file.suffix
    given = {name: value for name, value in given.items() if name in FORMATS[format].options}
    texts = list(read_texts(args.file, format, **given))
    if format == "conllu":
        return source_of_conllu(texts, args.file, args.documents), args.file.suffix
    return source_of_texts(texts, args.file, format, args.documents), ".jsonl"
