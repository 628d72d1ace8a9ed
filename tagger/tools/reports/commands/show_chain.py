"""The subcommand `allennlp show-chain model.tar.gz "a text"`."""

import argparse
from pathlib import Path

from allennlp.commands.subcommand import Subcommand

from tagger.commands.command import Command, add_shared
from tagger.common.console import say
from tagger.common.extras import check_installed
from tagger.common.locations import check_output


@Subcommand.register("show-chain")
class ShowChain(Command):
    """Show the scores and probabilities of a sentence's tags.

    Show how a tagger with a chain of tags chooses the tags of one sentence: the score and probability of
    each tag, the scores of transitions, the predicted path and, with --tags, the gold path.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("archive_file", type=Path, help="the archived tagger, with the head `crf` or `softmax`")
        add("text", help="the sentence")
        text = "the gold tag of each token, spelled as in the training data"
        add("--tags", nargs="+", metavar="TAG", help=text)
        text = "another archive, to compare; it gets the tokens of the first one"
        add("--beside", type=Path, metavar="ARCHIVE", help=text)
        add("-o", "--output", type=Path, help="an HTML page for the figure of the trellis")
        add_shared(parser, "--force")

    def run(self, args: argparse.Namespace) -> None:
        paths = [args.archive_file, *([args.beside] if args.beside else [])]
        if args.output:
            check_installed("report")
            check_output(args.output, paths, args.force)
        from tagger.predictors.saved_tagger import load
        from tagger.tools.reports.trellis import checked_chain, table_of, trellis_of, words_of

        taggers = {str(path): load(path) for path in paths}
        for name, each in taggers.items():
            checked_chain(each, name)
        words = words_of(taggers[str(args.archive_file)], args.text)
        trellises = [trellis_of(each, name, words, args.tags) for name, each in taggers.items()]
        for number, trellis in enumerate(trellises):
            lines = [trellis.name, *trellis.summary(), "", *table_of(trellis)]
            say("\n" * bool(number) + "\n".join(lines))
        if args.output:
            from tagger.tools.reports.trellis_page import write_trellis_page

            write_trellis_page(args.output, trellises)
            say(f"\nWrote {args.output}")
