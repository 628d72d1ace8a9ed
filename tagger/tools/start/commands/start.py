"""The subcommand `allennlp start train.txt dev.txt -o mine.jsonnet`."""

import argparse
from pathlib import Path

from allennlp.commands.subcommand import Subcommand

from tagger.commands.command import Command, add_shared
from tagger.common.console import say_lines


@Subcommand.register("start")
class Start(Command):
    """Write a config for your own file.

    Write a config for your own file, which has a token and its tag on each line and a blank line after
    each sentence, or is an export from an annotation tool. The command finds out what separates the
    columns, which one holds the tags and what they mean, the encoding of the text, how texts are split
    into tokens, the labels and the sizes, shows the first sentences with their entities as they were
    understood, names what it doubts and did not use, and reports what it chose. CSV or Parquet with
    columns of numbers is taken for recordings, with a row for each time step. Texts with labels of the
    whole text, in columns, lists or fastText's files, get a classifier.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("train", type=Path, help="the training file")
        text = "the development file; without it, the training file is split between its documents"
        add("dev", type=Path, nargs="?", help=text)
        text = "the config to write; parts and copies of your files are named after it"
        add("-o", "--output", type=Path, required=True, help=text)
        add_shared(parser, "--force")
        add("--seed", type=int, default=0, help="the seed of the split")
        add_shared(parser, "--text-encoding", "--token-column", "--tag-column")
        add_shared(parser, "--documents")
        add(
            "--format", help="the format of an annotation tool's files; by default it is recognised"
        )
        add_shared(parser, "--overlapping", "--label-names", "--offsets", "--quiet")

    def run(self, args: argparse.Namespace) -> None:
        from tagger.common.files import write_atomically
        from tagger.common.locations import check_output
        from tagger.data.reading import Reading
        from tagger.tools.start.classifier import start_with_labelled_texts
        from tagger.tools.start.labelled_texts import find_labelled_texts
        from tagger.tools.start.recordings import find_recordings, start_with_recordings
        from tagger.tools.start.start import start

        inputs = [path for path in (args.train, args.dev) if path]
        columns = ("text_encoding", "token_column", "tag_column")
        names = (*columns, "format", "overlapping", "label_names", "offsets")
        reading = Reading.of({name: getattr(args, name) for name in names})
        is_text = args.format is not None or args.token_column is not None
        tag = args.tag_column
        recordings = None if is_text else find_recordings(args.train, tag)
        texts = None if is_text or recordings else find_labelled_texts(args.train, tag)
        if recordings:
            started = start_with_recordings(inputs, args.output, recordings, args.seed)
        elif texts:
            started = start_with_labelled_texts(
                inputs, args.output, texts, args.seed, args.documents, tag
            )
        else:
            started = start(inputs, args.output, args.seed, args.documents, args.quiet, reading)
        for path in started.files:
            check_output(path, inputs, args.force)
        for path, text in started.files.items():
            with write_atomically(path, args.force) as new:
                new.write_bytes(text.encode())
        say_lines(started.said)
