"""The subcommand `convert`: turns a file of annotated texts into another format.

allennlp convert export.json train.conll
allennlp convert train.parquet train.jsonl --to doccano
"""

import argparse
from pathlib import Path

from allennlp.commands.subcommand import Subcommand

from tagger.commands.command import Command
from tagger.common.console import say


@Subcommand.register("convert")
class Convert(Command):
    """Converts a file from one format into another."""

    help = "Convert annotated texts between formats."
    description = (
        "Convert a file of annotated texts, such as an export of an annotation tool, into another "
        "format, and say what became of its texts and entities. Nothing is overwritten. Formats: "
        "doccano, prodigy, spacy_json, huggingface, label_studio, spacy, brat, csv, conllu, columns."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("input", metavar="IN", help="a file or an address, or a folder of brat")
        add("output", type=Path, metavar="OUT", help="a new file, or a new folder for brat")
        add("--from", dest="source", metavar="FORMAT", help="of IN; by default what it looks like")
        add("--to", dest="target", metavar="FORMAT", help="of OUT; by default what its name tells")
        add(
            "--overlapping",
            choices=("refuse", "longest", "outermost"),
            default="refuse",
            help="which of overlapping entities to keep, where OUT has one tag a token, or anyway if "
            "not `refuse`",
        )
        add("--label-names", nargs="+", metavar="TAG", help="of tags that are integers, from 0 on")
        add(
            "--offsets",
            choices=("characters", "bytes", "utf16"),
            help="what the offsets of IN count, if the text seems to contradict them",
        )

    def run(self, args: argparse.Namespace) -> None:
        from tagger.data.formats import convert_texts, format_of_path, read_texts, recognise
        from tagger.data.formats.registry import is_perhaps_columns

        source = args.source or recognise(args.input)
        if source is None and is_perhaps_columns(args.input):
            source = "columns"
        target = args.target or format_of_path(args.output)
        if args.output.exists():
            raise FileExistsError(f"{args.output} already exists; give another name")
        texts = read_texts(args.input, source, args.label_names, args.offsets)
        counts = convert_texts(texts, args.output, target, args.overlapping)
        say(f"{args.input} ({source}) -> {args.output} ({target})\n{counts}")
