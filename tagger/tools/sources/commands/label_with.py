"""The subcommand `allennlp label-with sources.jsonnet texts.txt -o labelled.jsonl`."""

import argparse
from pathlib import Path

from allennlp.commands.subcommand import Subcommand
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError

from tagger.commands.command import Command, add_shared
from tagger.common.console import say_lines
from tagger.common.inputs import utf8_lines
from tagger.common.locations import check_output
from tagger.data.formats import READ_FORMATS, AnnotatedText, read_texts, recognise_texts
from tagger.data.reading import Reading
from tagger_texts.display import aligned


@Subcommand.register("label-with")
class LabelWith(Command):
    """Label texts with lists, rules, taggers and files.

    A config names the sources: lists of terms, regular expressions, saved taggers, and files with the
    predictions of other models. The output has what each of them found, for `merge-labels`.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("sources", type=Path, help="the config with the sources")
        add("texts", help="a text on each line, or a file of an annotation tool")
        add("-o", "--output", type=Path, required=True, help="the file to write, JSON lines")
        text = "the format of an annotation tool's file; by default it is recognised"
        add(
            "--from",
            "--input-format",
            dest="source",
            choices=READ_FORMATS,
            metavar="FORMAT",
            help=text,
        )
        add("--plain", action="store_true", help="treat every line as text")
        add_shared(parser, "--force")

    def run(self, args: argparse.Namespace) -> None:
        from tagger.data.sources.annotations import write_annotations
        from tagger.tools.sources.label_sources import counts_of, label_texts

        check_output(args.output, [args.sources, args.texts], args.force)
        format = args.source or (None if args.plain else recognise_texts(args.texts))
        if format is not None:
            texts = list(read_texts(args.texts, Reading(format, labelled=False)))
        else:
            texts = [
                AnnotatedText(line.strip(), [], None, None, place, {})
                for place, line in utf8_lines(args.texts)
                if line.strip()
            ]
        if not texts:
            raise ConfigurationError(f"{args.texts}: expected a text on each line, got none")
        labelled = label_texts(Params.from_file(str(args.sources)), texts)
        write_annotations(labelled, args.output, args.force)
        rows = [["source", "texts", "entities"]]
        for name, (num_texts, labels) in counts_of(labelled).items():
            found = ", ".join(f"{label} {number:,}" for label, number in sorted(labels.items()))
            rows.append([name, f"{num_texts:,}", found or "none"])
        say_lines([*aligned(rows, to_the_left=(0, 2)), f"Wrote {args.output}"])
