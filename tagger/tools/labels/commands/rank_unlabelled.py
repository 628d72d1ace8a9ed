"""The subcommand `allennlp rank-unlabelled model.tar.gz texts.txt -o next.jsonl --budget 2000`."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from allennlp.commands.subcommand import Subcommand
from allennlp.common.checks import ConfigurationError

from tagger.commands.command import Command, add_shared
from tagger.commands.command_line import load, make_predictor
from tagger.common.console import say, say_lines, topics
from tagger.common.locations import check_output
from tagger.data.formats import FORMATS, READ_FORMATS, recognise_texts, replace_by_texts

if TYPE_CHECKING:
    from tagger.tools.labels.ranking import Ranking

#: How many texts to show, and how many characters of each.
_NUM_SHOWN, _WIDTH = 10, 70


@Subcommand.register("rank-unlabelled")
class RankUnlabelled(Command):
    """Choose what to label next.

    Rank unlabelled texts by how uncertain a saved tagger is about them, and write the first ones, up to
    a budget, for an annotation tool, with the tagger's suggestions. With `--by span`, annotators are
    only asked about the uncertain words.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("archive_file", type=Path, help="the archived tagger")
        text = (
            "a text or a JSON object on each line, as for `predict-file`; or an annotation "
            "tool's file"
        )
        add("texts", type=str, help=text)
        add("-o", "--output", type=Path, required=True, help="the file to write")
        add("--budget", type=int, required=True, help="the most words to ask about")
        text = "ask about whole sentences, or only about uncertain words"
        add("--by", choices=("sentence", "span"), default="sentence", help=text)
        text = (
            "rank by the entropy of the tags, by the improbability of the best tags, or by the expected "
            "number of missed entities, each divided by the number of words"
        )
        scores = ("entropy", "least_confidence", "expected_missed")
        add("--score", choices=scores, default="entropy", help=text)
        add("--rare-labels", action="store_true", help="ask first about uncertain rare labels")
        text = (
            "postpone a question until all others are asked if its words have at least this cosine "
            "similarity to those of an earlier question; above 1 postpones none"
        )
        add("--most-similar", type=float, default=0.8, metavar="COSINE", help=text)
        text = "by span: the least distance of an uncertain entity's probability from 0 and 1"
        add("--least-doubt", type=float, default=0.01, metavar="PROBABILITY", help=text)
        text = "the format of the output"
        add("--format", choices=FORMATS, default="doccano", metavar="FORMAT", help=text)
        text = (
            "the format of an annotation tool's file, such as label_studio; by default it is "
            "recognised"
        )
        add("--input-format", choices=READ_FORMATS, metavar="FORMAT", help=text)
        text = "treat every line as text, even if it looks like JSON"
        add("--plain", action="store_true", help=text)
        add_shared(parser, "--cuda-device", "--force")

    def run(self, args: argparse.Namespace) -> None:
        from tagger.predictors import SequenceTaggerPredictor
        from tagger.tools.labels.ranking import rank_texts, read_pool

        check_output(args.output, [args.archive_file, args.texts], args.force)
        is_plain = args.plain or args.texts == "-"
        format = args.input_format or (None if is_plain else recognise_texts(args.texts))
        if args.by == "span" and "properties" not in FORMATS[args.format].keeps:
            kept = ", ".join(name for name, each in FORMATS.items() if "properties" in each.keeps)
            raise ConfigurationError(
                f"`--format` {args.format} cannot store the words that are asked about; take one of "
                f"{kept}, or leave `--by span` out"
            )
        archive = load(args)
        predictor = make_predictor(archive, {"plain": args.plain})
        if not isinstance(predictor, SequenceTaggerPredictor) or predictor.reads_numbers:
            raise ConfigurationError("`archive_file` must hold a sequence tagger of texts")
        ranking = rank_texts(
            predictor,
            list(read_pool(predictor, args.texts, format)),
            args.budget,
            args.by,
            args.score,
            args.rare_labels,
            args.most_similar,
            args.least_doubt,
        )
        if not ranking.texts:
            raise ConfigurationError(
                f"nothing to ask: {ranking.num_questions} questions, of which none fits `--budget` "
                f"{args.budget}; raise it, lower `--least-doubt`, or give other texts"
            )
        counts = replace_by_texts(ranking.texts, args.output, args.format)
        say_lines([format_ranking(ranking), *topics(counts.lost(), "", 5)])
        say(f"Wrote {args.output}")


def format_ranking(ranking: "Ranking") -> str:
    """Formats the first texts with their scores, and how much is asked, as text."""
    lines = []
    for text in ranking.texts[:_NUM_SHOWN]:
        meta = text.properties["meta"]
        shown = " ".join(meta.get("ask", text.text).split())
        lines.append(f"{meta['score']:8.4f}  {shown[:_WIDTH]}{'…' * (len(shown) > _WIDTH)}")
    lines = [f"{'score':>8}  asked", *lines]
    more = len(ranking.texts) - _NUM_SHOWN
    lines += [f"{'':10}and {more:,} more texts"] if more > 0 else []
    share = ranking.num_asked / ranking.num_words
    lines.append(
        f"{ranking.num_asked:,} of {ranking.num_words:,} words ({share:.1%}) in "
        f"{len(ranking.texts):,} texts: {ranking.num_chosen:,} of {ranking.num_questions:,} questions"
    )
    return "\n".join(lines)
