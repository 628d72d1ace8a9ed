"""The subcommand `convert`, which turns a file of annotated texts into another format.

allennlp convert export.json train.conll
allennlp convert train.parquet train.jsonl --to doccano
"""

import argparse
from pathlib import Path

from allennlp.commands.subcommand import Subcommand

from tagger.commands.command import Command, add_shared
from tagger.common.console import say_lines, topics


@Subcommand.register("convert")
class Convert(Command):
    """Convert annotated texts between formats.

    Convert a file of annotated texts, such as an export from an annotation tool, into another format,
    and report what happened to its texts and entities. Nothing is overwritten. Formats: doccano,
    prodigy, spacy_json, huggingface, label_studio, spacy, brat, csv, conllu, columns. Texts with labels
    of the whole text become lines that the reader `document` takes.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("input", metavar="IN", help="a file or an address; for brat, a folder")
        add("output", type=Path, metavar="OUT", help="a new file; for brat, a new folder")
        text = "the format of IN; by default it is recognised from the contents"
        add("--from", dest="source", metavar="FORMAT", help=text)
        text = "the format of OUT; by default it depends on the name"
        add("--to", dest="target", metavar="FORMAT", help=text)
        choices = ("refuse", "longest", "outermost")
        text = (
            "which of several overlapping entities to keep; `refuse`, the default, stops if OUT "
            "cannot hold them"
        )
        add("--overlapping", choices=choices, default="refuse", help=text)
        add_shared(parser, "--label-names", "--offsets")
        add_shared(parser, "--text-encoding", "--token-column", "--tag-column")
        add_shared(parser, "--quiet")

    def run(self, args: argparse.Namespace) -> None:
        from tagger.common.files import write_atomically
        from tagger.common.locations import check_output
        from tagger.data.formats import (
            convert_texts,
            describe_file,
            format_of,
            format_of_path,
            read_texts,
        )
        from tagger.data.formats.annotated_text import DOCUMENT_KEYS
        from tagger.data.reading import Reading
        from tagger.data.shown import Watched, evidence_of
        from tagger.data.splitting.documents import with_documents
        from tagger.tools.start.labelled_texts import find_labelled_texts
        from tagger.tools.start.recordings import check_no_recordings

        # An address is no path of a file, and so has no such texts.
        named = args.source or args.target
        labelled = None if named else find_labelled_texts(Path(args.input), args.tag_column)
        if labelled is not None:
            check_output(args.output, [args.input], option="OUT")
            with write_atomically(args.output) as new:
                new.write_text("".join(labelled.written()), encoding="utf-8")
            say_lines([*labelled.described(), f"Wrote {args.output}"])
            return
        if not args.source and args.token_column is None:
            check_no_recordings(Path(args.input), args.tag_column)
        source = args.source or format_of(args.input)
        target = args.target or format_of_path(args.output)
        if target == "brat" and args.output.exists():
            raise FileExistsError(f"{args.output} already exists; give another name")
        check_output(args.output, [args.input], option="OUT")
        names = ("text_encoding", "token_column", "tag_column", "label_names", "offsets")
        reading = Reading.of({"format": source, **{name: getattr(args, name) for name in names}})
        texts = read_texts(args.input, reading)
        if source == "columns":
            texts = with_documents(texts, args.input, reading)
        watched = Watched(texts, args.input)
        counts = convert_texts(watched, args.output, target, args.overlapping)
        described = describe_file(args.input, source, reading)
        title = f"{args.input} ({source}) -> {args.output} ({target})"
        evidence = evidence_of(watched.kept, args.input, source, reading)
        said = [*described, *counts.items(), *evidence.report(DOCUMENT_KEYS, args.quiet)]
        say_lines([title, *topics(said, "", 10)])
