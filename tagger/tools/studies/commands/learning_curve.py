"""The subcommand `allennlp learning-curve train.txt dev.txt -s curve`."""

import argparse
import json
from pathlib import Path

from allennlp.commands.subcommand import Subcommand

from tagger.commands.command import Command, add_shared
from tagger.common.console import say, say_lines
from tagger.common.extras import check_installed


@Subcommand.register("learning-curve")
class LearningCurve(Command):
    """Predict what more labels would bring.

    Train on growing parts of the training data, whole documents each, and predict from these how good a
    tagger would be with more data of the same kind, overall and for each label. The folder gets
    curve.json and summary.md with the numbers, and curve.svg, a figure. Repeat an interrupted command
    to resume it; once it has finished, repeating it trains nothing.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("train", type=Path, help="the training file, as for `start`")
        add("dev", type=Path, help="the development file, on which all taggers are measured")
        add("-s", dest="folder", type=Path, required=True, help="the folder for the results")
        text = "the config of the taggers; by default, for each part, one that `start` would write"
        add("--config", type=Path, help=text)
        add("--overrides", default="", help="JSON to override the config")
        text = (
            "the shares of the documents to train on, at least three; 0.1 0.2 0.4 0.7 1 by default"
        )
        add("--shares", nargs="+", type=float, metavar="SHARE", help=text)
        text = "for each share, train a tagger with each of these seeds"
        add("--seeds", nargs="+", type=int, default=[1], help=text)
        add_shared(parser, "--workers", "--text-encoding", "--token-column", "--tag-column")
        add_shared(parser, "--documents", "--overlapping")

    def run(self, args: argparse.Namespace) -> None:
        check_installed("report")
        from allennlp.common import Params

        from tagger.common.locations import check_not_inputs
        from tagger.data.reading import Reading
        from tagger.tools.reports.figures import draw_learning_curve
        from tagger.tools.start.labelled_texts import find_labelled_texts
        from tagger.tools.studies.learning_curve import FILES, SHARES, learning_curve
        from tagger.training.run_folder import take_folder

        take_folder(args.folder, "-s")
        inputs = [args.train, args.dev, *([args.config] if args.config else [])]
        made = [args.folder / name for name in FILES]
        check_not_inputs([*made, *args.folder.glob("parts/*")], inputs, option="-s")
        if find_labelled_texts(args.train, args.tag_column) is not None:
            raise ValueError(
                f"{args.train}: expected labels of words, got labels of whole texts, which have "
                "no learning curve; train on parts of the file by `allennlp study`"
            )
        config = None
        if args.config is not None or args.overrides:
            if args.config is None:
                raise ValueError("`--overrides` changes a config; name it by --config")
            config = Params.from_file(args.config, args.overrides).as_dict(quiet=True)
        names = ("text_encoding", "token_column", "tag_column", "overlapping")
        reading = Reading.of({name: getattr(args, name) for name in names})
        found = learning_curve(
            args.train,
            args.dev,
            args.folder,
            config,
            args.shares or SHARES,
            args.seeds,
            args.workers,
            args.documents,
            reading=reading,
        )
        record = found.record()
        text = json.dumps(record, indent=2, ensure_ascii=False)
        for path, content in zip(made, (text, found.table(), draw_learning_curve(record))):
            path.write_text(f"{content.rstrip()}\n", encoding="utf-8")
        say_lines([found.table(), *record["says"]])
        say(f"Wrote {', '.join(map(str, made))}")
