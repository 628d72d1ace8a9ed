"""The subcommand `weighting-study`: weights one label at a time, and shows precision and recall.

allennlp weighting-study config.jsonnet -s runs/study --labels PER LOC --weights 0.5 1 2 --seeds 1 2 3
"""

import argparse
import json
from pathlib import Path

from allennlp.commands.subcommand import Subcommand


@Subcommand.register("weighting-study")
class WeightingStudy(Subcommand):
    """Trains with every strategy, label, weight and seed, and reports the effects."""

    def add_subparser(self, parser: argparse._SubParsersAction) -> argparse.ArgumentParser:
        """Adds the subcommand's options."""
        description = (
            "Weight one label at a time with every strategy and show the effect on precision and "
            "recall. Each strategy, label, weight and seed is a training run. Weight 1 is the "
            "plain model, trained once per seed. `decode_bias` does not train: it shifts the plain "
            "model's decoding by the logarithm of the weight. Jobs run in parallel. Start a "
            "stopped study again to run the unfinished jobs. The folder gets `runs/`; "
            "`results.csv`, one line per run; and `report.html`, which `allennlp report` can make "
            "again from that file."
        )
        subparser = parser.add_parser(
            self.name, description=description, help="Show what the weights of labels do."
        )
        subparser.add_argument(
            "config", type=Path, help="the config of a tagger with the head `crf`"
        )
        subparser.add_argument(
            "-s", dest="folder", type=Path, required=True, help="the folder for the results"
        )
        subparser.add_argument(
            "--labels", nargs="+", required=True, help="the labels to weight, one at a time"
        )
        subparser.add_argument(
            "--weights",
            nargs="+",
            type=_weight,
            default=[0.1, 0.25, 0.5, 1, 1.5, 2, 3],
            help="the weights of that label",
        )
        subparser.add_argument(
            "--strategies",
            nargs="+",
            help="`decode_bias`, and the weightings of the head `crf`; all by default",
        )
        subparser.add_argument(
            "--seeds", nargs="+", type=int, default=[1, 2, 3], help="the seeds of each run"
        )
        subparser.add_argument(
            "-o",
            "--overrides",
            default="",
            help="JSON to override the config, as for `allennlp train`",
        )
        subparser.add_argument(
            "--workers", type=int, help="how many jobs run in parallel; one per core by default"
        )
        subparser.set_defaults(func=weighting_study_from_args)
        return subparser


def weighting_study_from_args(args: argparse.Namespace) -> None:
    """Runs the subcommand; prints errors to standard error and exits with status 1."""
    from allennlp.common import Params

    from tagger.commands.last_words import errors_in_one_line
    from tagger.reports import write_study_report
    from tagger.studies.weighting import run_weighting_study

    with errors_in_one_line("weighting-study"):
        config = Params.from_file(args.config, args.overrides).as_dict(quiet=True)
        results, failed = run_weighting_study(
            config,
            args.folder,
            args.labels,
            args.weights,
            args.seeds,
            args.strategies,
            args.workers,
        )
        if results:
            page = args.folder / "report.html"
            write_study_report(results, page, figure_folder=args.folder)
            print(f"Wrote {args.folder / 'results.csv'} and {page}")
    if failed:
        raise SystemExit(
            f"weighting-study: {len(failed)} runs failed; see their logs, then start the study again"
        )


def _weight(text: str) -> float:
    try:
        weight = json.loads(text)
    except ValueError:
        weight = None
    if not isinstance(weight, (int, float)) or weight <= 0:
        raise argparse.ArgumentTypeError(f"weights must be above 0; got {text}")
    return weight
