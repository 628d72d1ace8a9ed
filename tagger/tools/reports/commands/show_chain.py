"""The subcommand `allennlp show-chain model.tar.gz "a text"`."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, List, Sequence, Tuple

from allennlp.commands.subcommand import Subcommand
from allennlp.common.checks import ConfigurationError

from tagger.commands.command import Command, add_shared
from tagger.common.console import say
from tagger.common.extras import check_installed
from tagger.common.locations import check_output

if TYPE_CHECKING:
    from allennlp.data import Instance

    from tagger.predictors.saved_tagger import SavedTagger


@Subcommand.register("show-chain")
class ShowChain(Command):
    """Show the scores and probabilities of a sentence's tags.

    Show how a tagger with a chain of tags chooses the tags of one sentence: the score and probability of
    each tag, the scores of transitions, the predicted path and the gold path, if it is known.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("archive_file", type=Path, help="the archived tagger, with the head `crf` or `softmax`")
        add("text", help="the sentence; with --sentence, a file that has it")
        text = "the N-th sentence of a file like those of the training, with its gold tags, from 1"
        add("--sentence", type=int, metavar="N", help=text)
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
        from tagger.tools.reports.trellis import checked_chain, table_of, trellis_of

        taggers = {str(path): load(path) for path in paths}
        for name, each in taggers.items():
            checked_chain(each, name)
        sentences = _sentences(args, [*taggers.values()])
        trellises = [
            trellis_of(each, name, *sentence)
            for (name, each), sentence in zip(taggers.items(), sentences)
        ]
        for number, trellis in enumerate(trellises):
            lines = [trellis.name, *trellis.summary(), "", *table_of(trellis)]
            say("\n" * bool(number) + "\n".join(lines))
        if args.output:
            from tagger.tools.reports.trellis_page import write_trellis_page

            write_trellis_page(args.output, trellises)
            say(f"\nWrote {args.output}")


def _sentences(
    args: argparse.Namespace, taggers: Sequence["SavedTagger"]
) -> List[Tuple["Instance", int]]:
    """Returns the sentence as each tagger reads it, and its place in its document."""
    from tagger.tools.reports.trellis import instance_of, sentence_in, words_of

    if args.sentence is None:
        words = words_of(taggers[0], args.text)
        return [(instance_of(each, words, args.tags), 0) for each in taggers]
    if args.tags:
        raise ConfigurationError("`--sentence` takes the gold tags of the file; leave out `--tags`")
    return [sentence_in(each, Path(args.text), args.sentence) for each in taggers]
