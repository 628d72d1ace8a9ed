"""The subcommands `study` and `weighting-study`, which train many variants and compare them.

allennlp study training_config/studies/wnut17.jsonnet -s runs/wnut17
allennlp weighting-study config.jsonnet -s runs/study --labels PER LOC --weights 0.5 1 2 --seeds 1 2 3
"""

import argparse
import json
from pathlib import Path
from typing import Sequence

from allennlp.commands.subcommand import Subcommand

from tagger.commands.command import Command, add_shared
from tagger.common.console import say
from tagger.common.extras import check_installed

#: The files that studies write into their folder.
_MADE = (
    *("results.csv", "report.html", "summary.md", "summary.svg", "differences.csv"),
    "differences.svg",
)


@Subcommand.register("study")
class Study(Command):
    """Trains variants of a config side by side, and tabulates their metrics."""

    help = "Train the variants of a study side by side."
    description = (
        "Train each variant in a study file with several seeds and tabulate the metrics. A study "
        "file is Jsonnet with three keys: `variants` maps names to complete configs; `seeds` is a "
        "list; and `columns` describes the table, each column with a `title` and the `metrics` "
        "whose mean it shows. With `baseline`, a variant, the others are compared with it on test "
        "data; with `tuned`, a list of variants, each of these is also evaluated after tuning its "
        "decoding. Jobs run in parallel. Start a stopped study again to run the unfinished jobs. "
        "The folder gets `runs/`; `results.csv`, one line per run; and the table with mean and "
        "standard deviation over seeds, `summary.md`, and as a figure, `summary.svg`; the same of "
        "differences as `differences.csv` and `differences.svg`."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("study", type=Path, help="a study file")
        _add_folder(parser)
        parser.add_argument("--variants", nargs="+", help="run only these; all by default")
        add_shared(parser, "--workers")

    def run(self, args: argparse.Namespace) -> None:
        check_installed("report")
        from tagger.tools.reports.figures import draw_differences, draw_variants
        from tagger.tools.studies.variants import read_study, run_study

        _check_not_input(args.study, args.folder)
        study = read_study(args.study)
        table, differences, failed = run_study(study, args.folder, args.variants, args.workers)
        if table:
            (args.folder / "summary.svg").write_text(draw_variants(table), encoding="utf-8")
        if differences:
            titles = dict.fromkeys(title for cells in differences.values() for title in cells)
            panels = {
                title: {name: cells[title] for name, cells in differences.items() if title in cells}
                for title in titles
            }
            figure = draw_differences(panels, str(study.baseline))
            (args.folder / "differences.svg").write_text(figure, encoding="utf-8")
        say((args.folder / "summary.md").read_text().rstrip())
        _end_if_failed(self.name, failed)


@Subcommand.register("weighting-study")
class WeightingStudy(Command):
    """Trains with every strategy, label, weight and seed, and reports the effects."""

    help = "Show what the weights of labels do."
    description = (
        "Weight one label at a time with every strategy and show the effect on precision and "
        "recall. Each strategy, label, weight and seed is a training run. Weight 1 is the plain "
        "model, trained once per seed. `decode_bias` does not train: it shifts the plain "
        "model's decoding by the logarithm of the weight. Jobs run in parallel. Start a stopped "
        "study again to run the unfinished jobs. The folder gets `runs/`; `results.csv`, with a "
        "line for each run; and `report.html`, which `allennlp report` can write again from "
        "that file."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("config", type=Path, help="the config of a tagger with the head `crf`")
        _add_folder(parser)
        add("--labels", nargs="+", required=True, help="the labels to weight, one at a time")
        weights = [0.1, 0.25, 0.5, 1, 1.5, 2, 3]
        text = "the weights of that label"
        add("--weights", nargs="+", type=_weight, default=weights, help=text)
        text = "`decode_bias`, and the weightings of the head `crf`; all by default"
        add("--strategies", nargs="+", help=text)
        add("--seeds", nargs="+", type=int, default=[1, 2, 3], help="the seeds of each run")
        text = "JSON to override the config, as for `allennlp train`"
        add("-o", "--overrides", default="", help=text)
        add_shared(parser, "--workers")

    def run(self, args: argparse.Namespace) -> None:
        check_installed("report")
        from allennlp.common import Params

        from tagger.tools.reports.study_report import write_study_report
        from tagger.tools.studies.weighting import run_weighting_study

        _check_not_input(args.config, args.folder)
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
            say(f"Wrote {args.folder / 'results.csv'} and {page}")
        _end_if_failed(self.name, failed)


def _check_not_input(path: Path, folder: Path) -> None:
    from tagger.common.locations import check_not_inputs

    check_not_inputs([folder / name for name in _MADE], [path], option="-s")


def _add_folder(parser: argparse.ArgumentParser) -> None:
    text = "the folder for the results"
    parser.add_argument("-s", dest="folder", type=Path, required=True, help=text)


def _end_if_failed(command: str, failed: Sequence[object]) -> None:
    if failed:
        raise SystemExit(
            f"{command}: {len(failed)} runs failed; see their logs, then start the study again"
        )


def _weight(text: str) -> float:
    try:
        weight = json.loads(text)
    except ValueError:
        weight = None
    if not isinstance(weight, (int, float)) or weight <= 0:
        raise argparse.ArgumentTypeError(f"weights must be above 0; got {text}")
    return weight
